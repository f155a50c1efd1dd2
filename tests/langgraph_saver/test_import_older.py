"""Moving in from databases that older releases of LangGraph wrote."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import TASKS
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from batonpass.adapters.langgraph import BatonpassSaver
from tests.cli.commandline import CommandLine

from .graphs import Runner, Trace
from .telling import told

pytestmark = pytest.mark.capability("langgraph")


@dataclass
class Own:
    """A type of a user's."""

    number: int


@pytest.fixture
def run(shared_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(shared_url, capsys, monkeypatch)


def spread(saver: Any, **options: Any) -> Any:
    """A node that sends to another."""
    graph: Any = StateGraph(Trace)
    graph.add_node("deal", lambda _: {"trace": ["deal"]})
    graph.add_node("work", lambda given: {"trace": [f"work {given['number']}"]})
    graph.add_edge(START, "deal")
    graph.add_conditional_edges("deal", lambda _: [Send("work", {"number": n}) for n in range(3)], ["work"])
    return graph.compile(checkpointer=saver, **options)


def age(connection: sqlite3.Connection, module: str) -> None:
    """As LangGraph before 0.5 wrote it: what was sent to nodes lies beside the channels; the class was in `module`."""

    def old(value: Any) -> ormsgpack.Ext:
        assert isinstance(value, Send)
        return ormsgpack.Ext(1, ormsgpack.packb((module, "Send", (value.node, value.arg))))

    serde = JsonPlusSerializer()
    for key, kind, data in connection.execute("SELECT checkpoint_id, type, checkpoint FROM checkpoints").fetchall():
        checkpoint = serde.loads_typed((kind, data))
        checkpoint["v"] = 3
        checkpoint["channel_versions"].pop(TASKS, None)
        checkpoint["pending_sends"] = checkpoint["channel_values"].pop(TASKS, [])
        packed = ormsgpack.packb(checkpoint, default=old)
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (packed, key))
    sent = connection.execute("SELECT rowid, type, value FROM writes WHERE channel = ?", (TASKS,)).fetchall()
    for row, kind, data in sent:
        packed = ormsgpack.packb(serde.loads_typed((kind, data)), default=old)
        connection.execute("UPDATE writes SET value = ? WHERE rowid = ?", (packed, row))
    assert sent
    connection.commit()


@pytest.mark.filterwarnings("ignore:Importing Send from langgraph.constants")
@pytest.mark.parametrize("module", ["langgraph.types", "langgraph.constants"])
def test_what_was_sent_to_nodes(module: str, run: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "old.db")
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        Runner(spread(SqliteSaver(connection), interrupt_before=["work"]), "t", "sync").run({"trace": ["in"]})
        age(connection, module)
        ran = run("import-langgraph", file)
        assert (ran.err, ran.code) == ("", 0)
        serde = JsonPlusSerializer(allowed_msgpack_modules=[("langgraph.constants", "Send")])
        with BatonpassSaver.from_url(run.url) as saver:
            ours, theirs = (Runner(spread(each), "t", "sync") for each in (saver, SqliteSaver(connection, serde=serde)))
            assert told(ours.history()) == told(theirs.history())
            assert ours.state().next == ("work", "work", "work")
            assert ours.run(None)["trace"] == theirs.run(None)["trace"] == ["in", "deal", "work 0", "work 1", "work 2"]
            assert told(ours.history()) == told(theirs.history())


def made(name: str, *args: Any, method: str | None = None, **kwargs: Any) -> dict[str, Any]:
    """An object as LangGraph wrote it before it took msgpack."""
    return {
        "lc": 2, "type": "constructor", "id": name.split("."), "method": method, "args": args, "kwargs": kwargs
    }  # fmt: skip


SAID = {"content": "x", "type": "human", "id": "1"}
OLD_VALUES: list[tuple[Any, Any]] = [
    (made("uuid.UUID", "00000000000000000000000000000005"), UUID(int=5)),
    (made("datetime.datetime", "2024-08-01T00:00:00+00:00", method="fromisoformat"), datetime(2024, 8, 1, tzinfo=UTC)),
    (made("datetime.date", "2024-08-01", method="fromisoformat"), date(2024, 8, 1)),
    (made("builtins.bytes", "0078", method="fromhex"), b"\0x"),
    (made("builtins.set", [1, 2]), {1, 2}),
    (made(f"{__name__}.Own", number=7), Own(7)),
    (
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": SAID},
        HumanMessage("x", id="1"),
    ),
]


@pytest.fixture
def old_file(tmp_path: Path) -> str:
    """A database with one checkpoint."""
    file = str(tmp_path / "old.db")
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty_checkpoint(), {}, {})
    return file


def write_json(file: str, values: list[Any]) -> None:
    """Put values into the checkpoint, in the form of 2024."""
    with closing(sqlite3.connect(file)) as connection, connection:
        [(key,)] = connection.execute("SELECT checkpoint_id FROM checkpoints").fetchall()
        checkpoint = {**empty_checkpoint(), "id": key, "v": 1, "channel_values": {"old": values}, "pending_sends": []}
        packed = json.dumps(checkpoint).encode()
        connection.execute("UPDATE checkpoints SET type = 'json', checkpoint = ?", (packed,))


def test_json(old_file: str, run: CommandLine) -> None:
    write_json(old_file, [old for old, _ in OLD_VALUES])
    ran = run("import-langgraph", old_file, "--allow", f"{__name__}:Own")
    assert (ran.err, ran.code) == ("", 0)
    with BatonpassSaver.from_url(run.url, allow=[Own]) as saver:
        found = saver.get_tuple({"configurable": {"thread_id": "t"}})
        assert found is not None
        assert found.checkpoint["channel_values"]["old"] == [new for _, new in OLD_VALUES]


@pytest.mark.parametrize(
    "broken",
    [
        made("uuid.UUID", "no"),
        made("datetime.datetime", "never", method="fromisoformat"),
        made(f"{__name__}.Own", other=7),
        made("builtins.bytes", 3),
    ],
)
def test_json_that_nothing_can_be_made_of(broken: Any, old_file: str, run: CommandLine) -> None:
    """LangGraph reads it as None, or as the dict."""
    write_json(old_file, [broken])
    ran = run("import-langgraph", old_file, "--allow", f"{__name__}:Own")
    assert ran.code == 1
    assert f"a {'.'.join(broken['id'])} that can't be made from what was stored" in ran.err


def test_one_of_several_that_the_class_does_not_take_any_more(old_file: str, run: CommandLine) -> None:
    """LangGraph reads it as the dict of its fields."""

    def stored(value: Own) -> ormsgpack.Ext:
        fields = {"number": 1} if value.number else {"before": 1}
        return ormsgpack.Ext(2, ormsgpack.packb((Own.__module__, "Own", fields)))

    serde = JsonPlusSerializer()
    with closing(sqlite3.connect(old_file)) as connection, connection:
        [(kind, data)] = connection.execute("SELECT type, checkpoint FROM checkpoints").fetchall()
        checkpoint = {**serde.loads_typed((kind, data)), "channel_values": {"owns": [Own(1), Own(0), Own(1)]}}
        packed = ormsgpack.packb(checkpoint, default=stored, option=ormsgpack.OPT_PASSTHROUGH_DATACLASS)
        connection.execute("UPDATE checkpoints SET checkpoint = ?", (packed,))
    ran = run("import-langgraph", old_file, "--allow", f"{__name__}:Own")
    assert f"a {__name__}.Own that can't be made from what was stored" in ran.err
