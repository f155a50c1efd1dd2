"""Moving in from what can't be read, wholly or in part: it is named, the rest comes, and nothing of it runs."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from tests.cli.commandline import CommandLine, kept

from .graphs import Runner, Trace, ask, chat, fan, say

pytestmark = pytest.mark.capability("langgraph")


@dataclass
class Own:
    """A type of a user's."""

    number: int


class OwnState(Trace, total=False):
    own: Own


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(f"sqlite:///{tmp_path}/store.db", capsys, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Where a SqliteSaver keeps two threads."""
    path = str(tmp_path / "old.db")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        talk = Runner(chat(saver), "talk", "sync")
        talk.run(say("hello"))
        talk.run(say("again"))
        Runner(ask(saver), "ask", "sync").run({"trace": ["in"]})
    return path


def change(file: str, query: str, *parameters: Any) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(query, parameters).rowcount


def third(file: str, thread: str) -> str:
    """The id of a thread's third checkpoint, or its last."""
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id LIMIT 3"
        key: str = connection.execute(query, [thread]).fetchall()[-1][0]
        return key


def spoil(file: str, kind: str, data: bytes) -> str:
    """Put something else in place of a checkpoint; its id."""
    key = third(file, "talk")
    change(file, "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE checkpoint_id = ?", kind, data, key)
    return key


def only_problem(run: CommandLine, file: str, key: str, imported: int) -> str:
    """What is told of the one checkpoint that is not here."""
    ran = run("import-langgraph", file, "--json")
    assert ran.code == 1
    [problem] = ran.json["problems"]
    assert (problem["key"], ran.json["imported"]) == (key, imported)
    text: str = problem["problem"]
    return text


def hostile(witness: Path) -> bytes:
    """A checkpoint that runs a command when it is restored without care."""
    call = ormsgpack.packb(("os", "system", f"touch {witness}"))
    return ormsgpack.packb({"channel_values": {"x": ormsgpack.Ext(0, call)}}, option=ormsgpack.OPT_NON_STR_KEYS)


def test_damaged_and_hostile_values_are_named(file: str, run: CommandLine, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    key = spoil(file, "msgpack", hostile(witness))
    if os.name == "posix":  # it is a real attack
        JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(("msgpack", hostile(witness)))
        assert witness.exists()
        witness.unlink()
    assert "a os.system, which is not restored" in only_problem(run, file, key, 7)
    assert not witness.exists()
    for kind, data, told in (
        ("msgpack", b"\xc1\x00", "can't be read"),
        ("msgpack", ormsgpack.packb({"v": 4}), "not a checkpoint"),
        ("msgpack", ormsgpack.packb("text"), ""),
        ("pickle", b"cos\nsystem\n", "'pickle'"),
        ("json", b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["touch x"]}', "os.system"),
        ("json", b"{", "can't be read: JSONDecodeError"),
    ):
        assert spoil(file, kind, data) == key
        assert told in only_problem(run, file, key, 0)
    ran = run("import-langgraph", file)
    assert ran.err.startswith(f"batonpass: thread 'talk', checkpoint {key}: ")
    assert ran.out == "2 thread(s): 0 checkpoint(s) imported, 7 were there, 1 are not here or differ\n"
    with BatonpassSaver.from_url(run.url) as saver:  # the thread can be used
        assert Runner(chat(saver), "talk", "sync").run(say("more"))["turns"] == 3


def test_what_is_encrypted_needs_its_key(file: str, run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    key = spoil(file, "msgpack+aes", b"whatever")
    assert "it is encrypted: set LANGGRAPH_AES_KEY" in only_problem(run, file, key, 7)
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "sixteen byte key")
    monkeypatch.setitem(sys.modules, "Crypto.Cipher", None)
    assert "pip install pycryptodome" in run("import-langgraph", file).complaint


def test_a_damaged_write_leaves_its_checkpoint_out(file: str, run: CommandLine) -> None:
    key = third(file, "ask")
    change(file, "UPDATE writes SET value = ? WHERE checkpoint_id = ?", b"\xc1", key)
    assert "can't be read" in only_problem(run, file, key, 7)
    with bp.connect(run.url) as coordinator:
        assert len(coordinator.timeline("ask")) == 1


def test_types_of_the_users_have_to_be_allowed(tmp_path: Path, run: CommandLine) -> None:
    graph: Any = StateGraph(OwnState)
    graph.add_node("make", lambda _: {"own": Own(7), "trace": ["made"]})
    graph.add_edge(START, "make")
    path = str(tmp_path / "own.db")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        serde = JsonPlusSerializer(allowed_msgpack_modules=[Own])
        Runner(graph.compile(checkpointer=SqliteSaver(connection, serde=serde)), "own", "sync").run({"trace": ["in"]})
    told = run("import-langgraph", path, "--json")
    assert (told.code, told.json["imported"], len(told.json["problems"])) == (1, 1, 2)
    assert all(f"{Own.__module__}.Own" in each["problem"] for each in told.json["problems"])
    again = run("import-langgraph", path, "--json", "--allow", f"{Own.__module__}:Own")
    assert (again.code, again.json["imported"], again.json["already_there"]) == (0, 2, 1)
    with BatonpassSaver.from_url(run.url, allow=[Own]) as saver:
        found = saver.get_tuple({"configurable": {"thread_id": "own"}})
        assert found is not None
        assert found.checkpoint["channel_values"]["own"] == Own(7)
    assert "write MODULE:CLASS" in run("import-langgraph", path, "--allow", "nothing:Own").complaint


def test_what_differs_is_told(file: str, run: CommandLine) -> None:
    assert run("import-langgraph", file).code == 0
    key = third(file, "talk")
    with BatonpassSaver.from_url(run.url, on_conflict="allow") as saver:
        found = saver.get_tuple({"configurable": {"thread_id": "talk", "checkpoint_ns": "", "checkpoint_id": key}})
        assert found is not None
        found.checkpoint["channel_values"]["turns"] = 41
        saver.put(found.parent_config or {}, found.checkpoint, found.metadata, {})
    assert "its values here differ" in only_problem(run, file, key, 0)
    assert run("import-langgraph", file, "--no-verify").code == 0
    before = third(file, "ask")
    change(file, "UPDATE writes SET channel = 'other' WHERE checkpoint_id = ? AND idx = 0", before)
    assert "its writes here differ" in run("import-langgraph", file, "--thread", "ask").err


@pytest.mark.parametrize("make", ["missing", "folder", "empty", "text", "ours", "lacking", "thread"])
def test_what_is_no_source(make: str, file: str, run: CommandLine, tmp_path: Path) -> None:
    path, told = tmp_path / "wrong", ""
    options: list[str] = []
    if make == "missing":
        told = "there is no file"
    elif make == "folder":
        path.mkdir()
        told = "there is no file"
    elif make == "empty":
        path.touch()
        told = "holds no checkpoints of LangGraph"
    elif make == "text":
        path.write_text("some words " * 100)
        told = "can't be read as a SQLite database: file is not a database"
    elif make == "ours":
        with bp.connect(f"sqlite:///{path}") as coordinator:
            coordinator.save(thread="t", agent="a", state={})
        told = "holds no checkpoints of LangGraph"
    elif make == "lacking":
        path, told = Path(file), "its table checkpoints has no parent_checkpoint_id"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("ALTER TABLE checkpoints RENAME COLUMN parent_checkpoint_id TO before")
    else:
        path, told, options = Path(file), "no thread 'none'", ["--thread", "none"]
    assert told in run("import-langgraph", str(path), *options).complaint
    assert not Path(run.url.removeprefix("sqlite:///")).exists()


def test_an_old_database_that_can_only_be_read(tmp_path: Path, run: CommandLine) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        Runner(fan(SqliteSaver(connection)), "fan", "sync").run({"trace": ["in"]})
        connection.execute("ALTER TABLE writes DROP COLUMN task_path")
        connection.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    assert run("import-langgraph", f"sqlite:///{path}", "--json").json["problems"] == []
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("old")] == ["old.db"]


def test_a_job_has_the_thread(file: str, run: CommandLine) -> None:
    app = bp.App("busy")

    @app.agent("go", accepts=bp.State, returns=bp.State)
    def go(state: bp.State) -> bp.State:
        return state

    with bp.connect(run.url, app=app) as coordinator:
        coordinator.submit(go, bp.State(), thread="talk")
    before = kept(run.url)
    told = run("import-langgraph", file, "--thread", "talk", "--json")
    assert (told.code, told.json["imported"], len(told.json["problems"])) == (1, 0, 6)
    assert "'talk'" in told.json["problems"][0]["problem"]
    assert kept(run.url) == before
