"""Two releases of a graph take turns on a thread, as in a rolling deploy. Channels that only one of them knows stay."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.parts.recent import Recent

from .chance import Point
from .graphs import LONG, Runner
from .telling import values

pytestmark = pytest.mark.capability("langgraph")


def _together(before: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*before, *(line for some in writes for line in some)]


class Old(TypedDict, total=False):
    trace: Annotated[list[str], operator.add]


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
