"""Pruning all threads, some of which lack a key: the others are pruned, and the end tells which were not."""

from __future__ import annotations

import time
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver

from ..cli.commandline import CommandLine

pytestmark = pytest.mark.capability("langgraph")

OLD, NEW = bp.Codec(encrypt={"old": b"o" * 32}), bp.Codec(encrypt={"new": b"n" * 32})


class Said(TypedDict, total=False):
    text: str


def _run(url: str, codec: bp.Codec | None, thread: str) -> None:
    graph: Any = StateGraph(Said)
    graph.add_node("say", lambda _: {"text": "said"})
    graph.add_edge(START, "say")
    with BatonpassSaver.from_url(url, codec=codec) as saver:
        graph.compile(checkpointer=saver).invoke({"text": ""}, {"configurable": {"thread_id": thread}})


def test_a_thread_whose_key_is_not_here_keeps_no_other_from_it(store_url: str) -> None:
    for thread, codec in (("a", NEW), ("b", OLD), ("c", NEW)):
        _run(store_url, codec, thread)
    time.sleep(0.01)
    with bp.connect(store_url, codec=NEW) as coordinator:
        with pytest.raises(bp.Unpruned, match=r"^1 thread.* could not be pruned: 'b': .* the key 'old'") as told:
            coordinator.prune(older_than=0.001)
        assert (told.value.freed, list(told.value.failed)) == (6, ["b"])
        assert coordinator.threads() == ["b"]
        with pytest.raises(bp.BadSetup, match="the key 'old'"):
            coordinator.prune("b", older_than=0.001)


def test_the_command_tells_what_was_freed_and_what_was_not(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread, codec in (("a", OLD), ("b", None), ("c", OLD)):
        _run(sqlite_url, codec, thread)
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    ran = run("prune", "--older-than", "0.001s")
    assert ran.out == "freed 3 checkpoints\n"
    assert (ran.code, "2 thread(s) could not be pruned: 'a': " in ran.err) == (2, True)
    again = run("prune", "--older-than", "0.001s", "--json")
    assert (again.code, again.json["checkpoints"], list(again.json["failed"])) == (2, 0, ["a", "c"])
