"""Beside an interrupt: a node's other tools and tasks go on when one of them has stopped the node."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic
from ..apps.langgraph_kit import passed_on, returning
from ..workers.serving import DEADLINE, reached, serving

pytestmark = pytest.mark.capability("langgraph")
PAID: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    PAID.clear()


def pay_slowly() -> str:
    time.sleep(0.5)
    PAID["paid"] += 1
    return "a receipt"


@tool
async def delegate() -> str:
    """Passes the job on, while the other call pays."""
    await asyncio.sleep(0.1)
    return passed_on("x")


@tool
async def ask() -> str:
    """Asks a person, while the other call pays."""
    await asyncio.sleep(0.1)
    return str(interrupt("sure?"))


@tool
async def refuse() -> str:
    """Rejects the job, while the other call pays."""
    await asyncio.sleep(0.1)
    bp.current().reject("not allowed")


@tool
def pay() -> str:
    """Pays, in a thread."""
    return bp.current().sync.effect("pay", pay_slowly)


@tool
async def apay() -> str:
    """Pays, in a task."""

    async def paying() -> str:
        await asyncio.sleep(0.5)
        await bp.current().emit("pays")
        await bp.current().step("fetch", asyncio.sleep, 0, key="fetch")
        PAID["paid"] += 1
        return "a receipt"

    return await bp.current().effect("pay", paying)


def desk(*names: str) -> Any:
    """A graph that calls these tools at once, in one node."""

    def plan(state: Any) -> Any:
        return {"messages": [AIMessage("", tool_calls=[{"name": name, "args": {}, "id": name} for name in names])]}

    made = (
        StateGraph(MessagesState).add_node("plan", plan).add_node("tools", ToolNode([delegate, ask, refuse, pay, apay]))
    )
    return made.add_edge(START, "plan").add_edge("plan", "tools")


def leave(result: Any, ctx: bp.Context) -> Notes:
    return Notes(notes=[message.content for message in result["messages"] if message.type == "tool"])


@pytest.mark.parametrize("other", ["pay", "apay"])
async def test_a_handoff_waits_for_the_effects_that_are_under_way(other: str) -> None:
    async with serving(returning(lambda: desk("delegate", other), leave=leave)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        assert (await job.result(timeout=DEADLINE)).notes == ["x back", "a receipt"]
    assert PAID == {"paid": 1}


@pytest.mark.parametrize("other", ["pay", "apay"])
async def test_so_does_a_question(other: str) -> None:
    async with serving(returning(lambda: desk("ask", other), leave=leave)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        assert await question(job) == "sure?"
        await job.answer("yes")
        assert (await job.result(timeout=DEADLINE)).notes == ["yes", "a receipt"]
    assert PAID == {"paid": 1}


@pytest.mark.parametrize("other", ["pay", "apay"])
async def test_an_effect_that_a_rejection_cuts_off_is_in_doubt(other: str) -> None:
    """The job was rejected, and nothing told of the payment."""
    async with serving(returning(lambda: desk("refuse", other), leave=leave)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        info = await reached(job, bp.JobState.FAILED, bp.JobState.REJECTED)
        assert info.reason == "ambiguous"
        assert "rejects the job (not allowed), but effect 'pay' started" in str(info.error)
