"""Moving in from databases that older releases of LangGraph wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import TASKS
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from batonpass.adapters.langgraph import BatonpassSaver
from tests.commandline import CommandLine

from .graphs import Runner, Trace
from .telling import told

pytestmark = pytest.mark.capability("langgraph")


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
def test_what_was_sent_to_nodes(module: str, run: CommandLine, tmp_path: Any) -> None:
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
