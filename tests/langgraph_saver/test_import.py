"""Moving in: threads of LangGraph's own savers become ours, compared one by one, and go on."""

from __future__ import annotations

import secrets
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import redis
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.configs import config_of
from batonpass.adapters.langgraph.importing.importer import Importer
from batonpass.adapters.langgraph.importing.sources import Source, Stored, open_source
from tests.cli.commandline import CommandLine, kept
from tests.harness import postgres
from tests.harness.keyspace import Keyspace
from tests.harness.waiting import wait_until

from .graphs import Runner, ask, chat, delta, fan, functional, nested, say
from .telling import values

pytestmark = pytest.mark.capability("langgraph")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL database that stays empty."""
    programs = postgres.binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.running(programs) as url:
        yield url


@pytest.fixture
def postgres_database(postgres_server: str) -> str:
    """The URL of a test's own PostgreSQL database, with the savers' tables."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    name = f"test_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = postgres_server.replace("/postgres?", f"/{name}?")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
    return url


@contextmanager
def opened(source: str) -> Generator[BaseCheckpointSaver[Any]]:
    """LangGraph's own saver on a database."""
    if source.startswith("postgresql:"):
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(source) as saver:
            yield saver
        return
    with closing(sqlite3.connect(source, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Where a SqliteSaver keeps its checkpoints."""
    return str(tmp_path / "old.db")


@pytest.fixture(params=["sqlite", "postgres"])
def source(request: pytest.FixtureRequest, file: str) -> str:
    return file if request.param == "sqlite" else str(request.getfixturevalue("postgres_database"))


@pytest.fixture
def run(shared_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(shared_url, capsys, monkeypatch)


def fill(saver: BaseCheckpointSaver[Any]) -> None:
    """Threads of every kind: forked, fanned out, asking, nested, with delta channels, functional."""
    talk = Runner(chat(saver), "chat/1 'é", "sync")
    for text in ("hello", "again", "more"):
        talk.run(say(text), {**talk.config, "metadata": {"run_id": text, "tags": 1}})
    talk.run(say("otherwise"), talk.history()[4].config)
    talk.update(talk.history()[6].config, {"turns": 40})
    for make in (fan, ask, nested):
        Runner(make(saver), make.__name__, "sync").run({"trace": ["in"]})
    lines = Runner(delta(saver), "delta", "sync")
    for turn in range(6):
        lines.run({"turns": turn})
    Runner(functional(saver), "functional", "sync").run(3)


def compared(theirs: BaseCheckpointSaver[Any], ours: BatonpassSaver) -> int:
    """Compare every checkpoint, and the order of each thread; how many there are."""
    threads: dict[str, list[str]] = {}
    for found in theirs.list(None):
        at: Any = found.config.get("configurable")
        again = ours.get_tuple({"configurable": {name: at[name] for name in sorted(at)}})
        assert again is not None
        assert values(again.checkpoint) == values({"updated_channels": None, **found.checkpoint})
        assert values([again.metadata, again.pending_writes]) == values([found.metadata, found.pending_writes])
        assert again.parent_config == found.parent_config
        threads.setdefault(at["thread_id"], []).append(at["checkpoint_id"])
    for thread, keys in threads.items():
        configs: list[Any] = [found.config for found in ours.list({"configurable": {"thread_id": thread}})]
        assert [config["configurable"]["checkpoint_id"] for config in configs] == keys
    return sum(map(len, threads.values()))


def everything(url: str) -> Any:
    """What a store keeps."""
    if url.startswith("sqlite"):
        return kept(url)
    server, _, namespace = url.partition("?namespace=")
    with redis.Redis.from_url(server) as client:
        return Keyspace(client, f"bp:{{{namespace}:0}}:").keys


def test_everything_comes_along_once(source: str, run: CommandLine) -> None:
    with opened(source) as saver:
        fill(saver)
    told = run("import-langgraph", source, "--json").json
    assert (told["threads"], told["already_there"], told["problems"]) == (6, 0, [])
    with opened(source) as theirs, BatonpassSaver.from_url(run.url) as ours:
        assert compared(theirs, ours) == told["imported"] == told["verified"]
    with bp.connect(run.url) as coordinator:
        steps = {each.step for each in coordinator.timeline("fan")}
        assert {"left, right", "join", "last"} <= steps
    before = everything(run.url)
    ran = run("import-langgraph", source, "--no-verify")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"6 thread(s): 0 checkpoint(s) imported, {told['imported']} were there\n"
    assert before
    assert everything(run.url) == before


def test_a_thread_goes_on(source: str, run: CommandLine) -> None:
    with opened(source) as saver:
        saver.delete_thread("ask")
        asking = Runner(ask(saver), "ask", "sync")
        asking.run({"trace": ["in"]})
        questions = asking.state().interrupts
    assert run("import-langgraph", source, "--thread", "ask").code == 0
    with BatonpassSaver.from_url(run.url) as saver:
        asking = Runner(ask(saver), "ask", "sync")
        assert asking.state().interrupts == questions
        done = asking.run(Command(resume={each.id: "yes" for each in questions}))
        assert done["trace"] == ["in", "free", "one", "two", "close 2"]  # "free" did not run again
        count = len(asking.history())
    again = run("import-langgraph", source, "--thread", "ask", "--json").json  # what happened here stays
    assert (again["imported"], again["problems"]) == (0, [])
    with BatonpassSaver.from_url(run.url) as saver:
        assert len(Runner(ask(saver), "ask", "sync").history()) == count


def test_what_came_since_is_brought(file: str, run: CommandLine) -> None:
    with opened(file) as saver:
        asking, talk = Runner(ask(saver), "ask", "sync"), Runner(chat(saver), "talk", "sync")
        asking.run({"trace": ["in"]})
        talk.run(say("hello"))
        assert run("import-langgraph", file).code == 0
        asking.run(Command(resume={each.id: "yes" for each in asking.state().interrupts}))
        talk.run(say("again"))
    told = run("import-langgraph", file, "--json").json
    assert (told["already_there"], told["problems"]) == (5, [])
    with opened(file) as theirs, BatonpassSaver.from_url(run.url) as ours:
        assert compared(theirs, ours) == told["already_there"] + told["imported"]


@pytest.mark.parametrize("again", [False, True])
def test_a_source_may_be_written_to_meanwhile(
    again: bool, file: str, run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(file) as saver:
        Runner(ask(saver), "ask", "sync").run({"trace": ["in"]})
    if again:
        assert run("import-langgraph", file).code == 0
    get = Source.get

    def written(self: Source, thread: str, at: Stored) -> Any:
        monkeypatch.setattr(Source, "get", get)
        spot = config_of(thread, at.scope, at.key)
        with opened(file) as saver:
            saver.put_writes(spot, [("trace", ["before"])], "before")
            found = get(self, thread, at)
            saver.put_writes(spot, [("trace", ["after"])], "after")
        return found

    monkeypatch.setattr(Source, "get", written)
    assert run("import-langgraph", file, "--json").json["problems"] == []
    with opened(file) as theirs, BatonpassSaver.from_url(run.url) as ours:
        assert compared(theirs, ours) == 2


def test_an_encrypted_source(file: str, run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("Crypto")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "sixteen byte key")
    with opened(file) as saver:
        saver.serde = EncryptedSerializer.from_pycryptodome_aes()
        Runner(ask(saver), "ask", "sync").run({"trace": ["in"]})
        told = run("import-langgraph", file, "--json").json
        assert (told["imported"], told["problems"]) == (2, [])
        with BatonpassSaver.from_url(run.url) as ours:
            assert compared(saver, ours) == 2
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "an other key ...")
    assert "can't be read: ValueError: MAC check failed" in run("import-langgraph", file).err
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "short")
    assert "LANGGRAPH_AES_KEY must be" in run("import-langgraph", file).complaint


def test_an_import_that_stopped_goes_on(file: str, run: CommandLine) -> None:
    with opened(file) as saver:
        fill(saver)
    with open_source(file) as source, bp.connect(run.url) as coordinator:
        importing = Importer(source, coordinator.store)
        first = list(islice(importing.thread("delta"), 7))
    assert len(first) == 7
    told = run("import-langgraph", file, "--json").json
    assert (told["already_there"], told["problems"]) == (7, [])
    with opened(file) as theirs, BatonpassSaver.from_url(run.url) as ours:
        assert compared(theirs, ours) == 7 + told["imported"]


def test_a_killed_import_goes_on(file: str, run: CommandLine) -> None:
    with opened(file) as saver:
        talk = Runner(fan(saver), "talk", "sync")
        for _ in range(40):
            talk.run({"trace": ["in"]})
    command = [sys.executable, "-m", "batonpass", "import-langgraph", file, "--store", run.url]
    with bp.connect(run.url) as coordinator, subprocess.Popen(command) as process:
        wait_until(lambda: len(coordinator.timeline("talk", limit=30)) == 30, what="checkpoints")
        process.kill()
    assert process.returncode == -9, "the import had ended before it was killed"
    told = run("import-langgraph", file, "--json").json
    assert told["problems"] == []
    assert told["already_there"] >= 30
    with opened(file) as theirs, BatonpassSaver.from_url(run.url) as ours:
        assert compared(theirs, ours) == told["already_there"] + told["imported"]


def test_it_grows_as_a_thread_of_ours_does(file: str, sqlite_url: str, tmp_path: Path) -> None:
    with opened(file) as saver:
        talk = Runner(chat(saver), "talk", "sync")
        for number in range(40):
            talk.run(say(f"{number} {'what is new is that much ' * 40}"))
    new = f"sqlite:///{tmp_path / 'new.db'}"
    ran = subprocess.run([sys.executable, "-m", "batonpass", "import-langgraph", file, "--store", new], check=False)
    assert ran.returncode == 0
    with BatonpassSaver.from_url(sqlite_url) as saver:
        talk = Runner(chat(saver), "talk", "sync")
        for number in range(40):
            talk.run(say(f"{number} {'what is new is that much ' * 40}"))
    imported, made = (sum(len(str(line)) for line in kept(url).values()) for url in (new, sqlite_url))
    assert imported < 1.2 * made


def test_a_newer_postgres(postgres_database: str, run: CommandLine) -> None:
    import psycopg

    with psycopg.connect(postgres_database) as connection:
        connection.execute("CREATE SCHEMA newer")
        for table in ("checkpoints", "checkpoint_writes", "checkpoint_migrations"):
            connection.execute(f"CREATE TABLE newer.{table} AS SELECT * FROM {table} LIMIT 0".encode())
        connection.execute("INSERT INTO newer.checkpoint_migrations VALUES (900)")
        connection.execute("CREATE SCHEMA nothing")
    for schema, told in (("newer", "has version 900 of its tables"), ("nothing", "holds no checkpoints")):
        url = f"{postgres_database}&options=-csearch_path%3D{schema}"
        assert told in run("import-langgraph", url).complaint
    complaint = run("import-langgraph", "postgresql://someone:secret@127.0.0.1:9/none").complaint
    assert "can't be opened" in complaint
    assert "secret" not in complaint


def test_the_source_can_not_be_written_to(source: str) -> None:
    with opened(source) as saver:
        Runner(chat(saver), "talk", "sync").run(say("hello"))
    with open_source(source) as found, pytest.raises(Exception, match=r"read-?only"):
        found._connection.execute("DELETE FROM checkpoints")
