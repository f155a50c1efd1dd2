"""A part that keeps its state (`compile(checkpointer=True)`) is visited several times by a job that stops before it."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from batonpass.testing import serving

from ..apps.kit import question
from ..apps.langgraph_app import Topic, Words, in_order
from ..apps.langgraph_kit import only

pytestmark = pytest.mark.capability("langgraph")

RAN: Counter[str] = Counter()


class Kept(TypedDict, total=False):
    text: str
    visits: Annotated[list[int], operator.add]


def part(asks: bool, depth: int, left: bool) -> Any:
    def visit(state: Any) -> Any:
        RAN["visit"] += 1
        return {"visits": [len(state.get("visits", ()))]}

    def leave(state: Any) -> Any:
        if asks:
            interrupt("inside?")
        RAN["leave"] += 1
        text = {"text": f"visit {len(state['visits'])}"}
        return Command(graph=Command.PARENT, goto="note", update=text) if left else text

    inner = in_order({"visit": visit, "leave": leave}, Kept).compile(checkpointer=True)
    return inner if depth == 1 else in_order({"inner": inner}, Kept).compile()


def desk(asks: bool, depth: int, left: bool) -> Any:
    """Visits the part three times, and a person is asked before each."""
    made = StateGraph(Words)
    made.add_node("part", part(asks, depth, left), destinations=("note",))
    made.add_node("note", note)
    made.add_edge(START, "part")
    if not left:
        made.add_edge("part", "note")
    made.add_conditional_edges("note", lambda state: "part" if len(state["notes"]) < 3 else END)
    return made.compile(interrupt_before=["part"])


def note(state: Any) -> Any:
    return {"notes": [state["text"]]}


@pytest.mark.parametrize(("depth", "left"), [(1, False), (1, True), (2, False)], ids=["", "left", "deep"])
@pytest.mark.parametrize("asks", [False, True], ids=["", "asks"])
async def test_each_visit_runs_once(asks: bool, depth: int, left: bool) -> None:
    RAN.clear()
    async with serving(only(lambda: desk(asks, depth, left))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        for _ in range(3):
            assert await question(job) == {"paused_before": ["part"]}
            await job.answer("go")
            if asks:
                assert await question(job) == "inside?"
                await job.answer("yes")
        assert (await job.result(timeout=60)).notes == ["visit 1", "visit 2", "visit 3"]
    assert RAN == {"visit": 3, "leave": 3}
