"""Whatever a graph does, its history is the one that LangGraph's own saver keeps: both run it, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.parts.recent import Recent

from . import graphs
from .graphs import Runner, say
from .telling import told, values

pytestmark = pytest.mark.capability("langgraph")


def _chats(runner: Runner, durability: Any) -> None:
    for text in ("hello", "and now?", "good"):
        runner.run(say(text), durability=durability)


def _fans(runner: Runner, durability: Any) -> None:
    runner.run({"trace": ["in"]}, durability=durability)


def _asks(runner: Runner, durability: Any) -> None:
    runner.run({"trace": ["in"]}, durability=durability)
    asked = runner.state().interrupts
    assert len(asked) == 2
    runner.run(Command(resume={asked[0].id: "more", asked[1].id: "yes"}), durability=durability)
    [again] = runner.state().interrupts
    runner.run(Command(resume={again.id: " and so"}), durability=durability)
    assert runner.state().next == ()


def _nests(runner: Runner, durability: Any) -> None:
    runner.run({"trace": ["in"]}, durability=durability)
    assert runner.state(subgraphs=True).tasks[0].state.next == ("asks",)
    runner.run(Command(resume="yes"), durability=durability)


def _travels(runner: Runner, durability: Any) -> None:
    _chats(runner, durability)
    past = runner.history()
    old = next(state for state in past if len(state.values.get("messages", [])) == 2)
    runner.run(say("another way"), old.config, durability=durability)
    forked = runner.update(old.config, say("changed by hand"), as_node="__start__")
    runner.run(None, forked, durability=durability)
    runner.update(None, {"turns": 70})
    runner.run(say("on"), durability=durability)


def _replays_within(runner: Runner, durability: Any) -> None:
    _nests(runner, durability)
    first = next(state for state in runner.history() if state.next == ("part",))
    runner.run(None, first.config, durability=durability)
    runner.run(Command(resume="again"), durability=durability)


def _deltas(runner: Runner, durability: Any) -> None:
    for _ in range(7):
        runner.run({"turns": runner.state().values.get("turns", 0)}, durability=durability)
    past = runner.history()
    runner.run({}, past[len(past) // 2].config, durability=durability)


def _calls(runner: Runner, durability: Any) -> None:
    for number in (1, 2, 3):
        runner.run(number, durability=durability)


SCENES: dict[str, tuple[Callable[[Any], Any], Callable[[Runner, Any], None]]] = {
    "chat": (graphs.chat, _chats),
    "fan": (graphs.fan, _fans),
    "ask": (graphs.ask, _asks),
    "nested": (graphs.nested, _nests),
    "travel": (graphs.chat, _travels),
    "replay": (graphs.nested, _replays_within),
    "delta": (graphs.delta, _deltas),
    "functional": (graphs.functional, _calls),
}


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("scene", SCENES)
def test_the_history_is_the_same(scene: str, durability: str, side: str, saver: BatonpassSaver, thread: str) -> None:
    make, play = SCENES[scene]
    ours, theirs = (Runner(make(each), thread, side) for each in (saver, InMemorySaver()))
    play(ours, durability)
    play(theirs, durability)
    # With "async" LangGraph gives a barrier's set to the saver, and goes on adding to it before the saver is called.
    left_out = {"next", "tasks"} if (scene, durability) == ("fan", "async") else set[str]()
    assert told(ours.history(), left_out) == told(theirs.history(), left_out)
    # What another process would read: nothing that is remembered here.
    fresh = Runner(make(saver), thread, side)
    saver._shared.recent = Recent()
    assert told(fresh.history(), left_out) == told(theirs.history(), left_out)
    assert values(fresh.state().values) == values(theirs.state().values)
