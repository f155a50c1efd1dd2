"""Two releases of a graph take turns on a thread, as in a rolling deploy. Channels that only one of them knows stay."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.parts.recent import Recent

from .chance import Point
from .graphs import LONG, Runner
from .telling import values

pytestmark = pytest.mark.capability("langgraph")

_CLASSES = """
from dataclasses import dataclass
from enum import Enum
from pydantic import BaseModel
class Order(BaseModel):
    count: int
@dataclass
class Line:
    text: str
class Size(Enum):
    LARGE = "l"
"""


def _together(before: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*before, *(line for some in writes for line in some)]


class Old(TypedDict, total=False):
    trace: Annotated[list[str], operator.add]


class Holding(Old, total=False):
    held: list[Any]


class New(Old, total=False):
    facts: Annotated[list[str], operator.add]
    user: str
    at: Point
    lines: Annotated[list[str], DeltaChannel(_together, snapshot_frequency=2)]


@pytest.fixture
def allowing(url: str) -> Iterator[BatonpassSaver]:
    with BatonpassSaver.from_url(url, allow=[Point]) as made:
        yield made


def _release(saver: Any, schema: Any, forgets: bool) -> Any:
    def turn(state: Any) -> Any:
        if forgets and isinstance(saver, BatonpassSaver):
            saver._shared.recent = Recent()  # as when other threads have taken its place
        count = len(state.get("trace", ()))
        more = {"facts": [f"{LONG} {count}"], "user": "Bo", "at": Point(x=count), "lines": [f"line {count}"]}
        return {"trace": [f"turn {count}"], **(more if schema is New and count % 2 else {})}

    graph: Any = StateGraph(schema)
    graph.add_node("turn", turn)
    graph.add_node("close", lambda _: {"trace": ["close"]})
    graph.add_edge(START, "turn")
    graph.add_edge("turn", "close")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_what_one_does_not_know_stays(
    durability: str, side: str, forgets: bool, allowing: BatonpassSaver, thread: str
) -> None:
    told: list[list[Any]] = []
    for saver in (allowing, InMemorySaver()):
        old, new = (Runner(_release(saver, schema, forgets), thread, side) for schema in (Old, New))
        for number, release in enumerate([new, old, old, new, new, old, new, old]):
            release.run({"trace": [f"in {number}"]}, durability=durability)
        new.update(None, {"user": "Al"})
        old.update(None, {"trace": ["by hand"]}, as_node="turn")
        old.run(None)
        told.append([values(state.values) for state in new.history()])
    assert told[0] == told[1]
    last = told[0][0]
    assert last["user"] == "Al"
    assert isinstance(last["at"], Point)
    assert len(last["facts"]) == len(last["lines"]) > 1


def _asking(saver: Any, asks: bool, forgets: bool) -> Any:
    def first(_: Any) -> Any:
        if forgets and isinstance(saver, BatonpassSaver):
            saver._shared.recent = Recent()  # as when other threads have taken its place
        return {"trace": ["first"]}

    builder: Any = StateGraph(Old)
    builder.add_node("first", first)
    builder.add_edge(START, "first")
    for name in ("asks", "beside") if asks else ():
        builder.add_node(name, lambda _, name=name: {"trace": [f"{name} {interrupt(name)}"]})
        builder.add_edge("first", name)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("side", ["sync", "async"])
def test_nodes_that_one_does_not_have_are_still_next(
    side: str, forgets: bool, saver: BatonpassSaver, thread: str
) -> None:
    """A node that only the newer release has asks a person, and the older one changes the state meanwhile."""
    told: list[list[Any]] = []
    for each in (saver, InMemorySaver()):
        new, old = (Runner(_asking(each, asks, forgets), thread, side) for asks in (True, False))
        new.run({"trace": ["in"]})
        old.run({"trace": ["in again"]})
        old.update(None, {"trace": ["by hand"]}, as_node="first")
        old.update(None, {"trace": ["again"]}, as_node="first")
        new.run(None)
        asked = new.state().interrupts
        new.run(Command(resume={interrupt.id: "yes" for interrupt in asked}))
        told.append([(state.next, values(state.values)) for state in new.history()])
    assert told[0] == told[1]
    assert sorted(told[0][0][1]["trace"][-2:]) == ["asks yes", "beside yes"]


def _module(monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> Any:
    made: Any = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    exec(code, made.__dict__)
    return made


@pytest.mark.parametrize("is_kept", [True, False], ids=["old name kept", "old name gone"])
def test_a_class_that_has_moved(is_kept: bool, url: str, thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is restored if its old name still leads to it."""
    config: Any = {"configurable": {"thread_id": thread}}

    def release(module: Any) -> Any:
        builder: Any = StateGraph(Holding)
        builder.add_node("show", lambda state: {"trace": [repr(state["held"])]})
        builder.add_edge(START, "show")
        names = [(module.__name__, name) for name in ("Order", "Line", "Size")]
        return builder.compile(checkpointer=saver.with_allowlist(names))

    with BatonpassSaver.from_url(url) as saver:
        old = _module(monkeypatch, "planted_old", _CLASSES)
        release(old).invoke({"held": [old.Order(count=2), old.Line("two"), old.Size.LARGE]}, config)
        saver._shared.recent = Recent()
        new = _module(monkeypatch, "planted_new", _CLASSES)
        _module(monkeypatch, "planted_old", "from planted_new import Line, Order, Size" if is_kept else "")
        moved = release(new)
        if is_kept:
            assert moved.invoke({"trace": []}, config)["held"] == [new.Order(count=2), new.Line("two"), new.Size.LARGE]
        else:
            with pytest.raises(bp.BadSetup, match=r"planted_old\.Order.* if the class has moved, import it in its old"):
                moved.get_state(config)
