"""Two releases of a graph take turns on a job, as in a rolling deploy: what only one of them knows stays."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import only

pytestmark = pytest.mark.capability("langgraph")


class New(Words, total=False):
    facts: Annotated[list[str], operator.add]
    count: int
    seen: frozenset[Any]
    messages: Annotated[list[AnyMessage], add_messages]


def _release(schema: Any) -> bp.App:
    def finds(_: Any) -> Any:
        return {"facts": ["one"], "count": 1, "seen": frozenset([1]), "messages": [AIMessage("found", id="m")]}

    def ends(state: Any) -> Any:
        known = (state["facts"], state["count"], state["seen"], [each.text for each in state["messages"]])
        return {"notes": [repr(known)]}

    def graph() -> Any:
        made: Any = StateGraph(schema)
        made.add_node("finds", finds)
        made.add_node("asks", lambda _: {"notes": [interrupt("one?")]})
        made.add_node("asks again", lambda _: {"notes": [interrupt("two?")]})
        made.add_node("ends", ends)
        for before, after in ((START, "finds"), ("finds", "asks"), ("asks", "asks again"), ("asks again", "ends")):
            made.add_edge(before, after)
        return made

    return only(graph)


async def test_what_one_does_not_know_stays() -> None:
    new, old = _release(New), _release(Words)
    async with bp.connect("memory://") as coordinator:
        await new.declare(coordinator)
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        async with new.worker(coordinator):
            assert await question(job) == "one?"
        async with old.worker(coordinator):
            await job.answer("A")
            assert await question(job, "one?") == "two?"
        async with new.worker(coordinator):
            await job.answer("B")
            result = await job.result(timeout=30)
    assert result.notes == ["A", "B", "(['one'], 1, frozenset({1}), ['found'])"]
