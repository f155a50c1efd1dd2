"""A job comes back to a graph (`memory="job"`): what was finished there is still finished, and parts that keep their
state have it."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import passed_on, returning
from ..workers.serving import DEADLINE, serving

pytestmark = pytest.mark.capability("langgraph")
RAN: Counter[str] = Counter()


class Kept(TypedDict, total=False):
    text: str
    visits: Annotated[list[int], operator.add]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    RAN.clear()


def part() -> Any:
    """A part that counts its visits."""

    def visit(state: Any) -> Any:
        return {"visits": [1], "text": f"visit {len(state.get('visits', ()))}"}

    return StateGraph(Kept).add_node("visit", visit).add_edge(START, "visit").compile(checkpointer=True)


def note(state: Any) -> Any:
    return {"notes": [state["text"]]}


async def test_a_finished_node_does_not_run_again_after_a_question() -> None:
    def beside(state: Any) -> Any:
        RAN["beside"] += 1
        return {"notes": ["beside"]}

    def asks(state: Any) -> Any:
        return {"notes": [passed_on("one"), interrupt("sure?"), passed_on("two")]}

    def both() -> Any:
        made = StateGraph(Words).add_node("asks", asks).add_node("beside", beside)
        return made.add_edge(START, "asks").add_edge(START, "beside")

    async with serving(returning(both)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        assert await question(job) == "sure?"
        await job.answer("yes")
        assert (await job.result(timeout=DEADLINE)).notes == ["one back", "yes", "two back", "beside"]
    assert RAN == {"beside": 1}


@pytest.mark.parametrize("asks", [False, True], ids=["", "asks"])
@pytest.mark.parametrize("fails", [False, True], ids=["", "fails"])
async def test_a_part_keeps_its_state_although_the_attempt_ends(asks: bool, fails: bool) -> None:
    def between(state: Any) -> Any:
        if asks:
            interrupt("sure?")
        RAN["between"] += 1
        if fails and RAN["between"] == 1:
            raise OSError("no network")
        return {}

    def desk() -> Any:
        made = StateGraph(Words).add_node("part", part()).add_node("note", note)
        made.add_node("pass", lambda state: {"text": passed_on("x")}).add_node("between", between)
        made.add_edge(START, "part").add_edge("part", "note").add_edge("pass", "between").add_edge("between", "part")
        return made.add_conditional_edges("note", lambda state: "pass" if len(state["notes"]) < 2 else END)

    async with serving(returning(desk, retries=bp.Retry(first=0.001))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        if asks:
            await question(job)
            await job.answer("yes")
        assert (await job.result(timeout=DEADLINE)).notes == ["visit 0", "visit 1"]


async def test_a_part_keeps_its_state_when_the_graph_has_ended() -> None:
    def desk() -> Any:
        made = StateGraph(Words).add_node("part", part()).add_node("note", note)
        return made.add_edge(START, "part").add_edge("part", "note")

    def leave(result: Any, ctx: bp.Context) -> Any:
        return Notes(notes=result["notes"]) if ctx.hop else bp.Handoff("b", Topic(text="x"))

    async with serving(returning(desk, leave=leave)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        assert (await job.result(timeout=DEADLINE)).notes == ["visit 0", "visit 1"]
