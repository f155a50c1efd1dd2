"""What only plain functions can do is refused in a framework's agent, with what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import batonpass as bp

from .workers.serving import DEADLINE, Reply, serving

pytestmark = pytest.mark.capability("langgraph")


class Text(bp.Contract, name="elsewhere.text"):
    text: str


class State(TypedDict, total=False):
    text: str


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda ctx: ctx.ask("sure?", timeout=5),
            r"a node asks by interrupt\(question\).*timeout=.*declare the agent with asks=",
        ),
        (
            lambda ctx: ctx.fan_out([bp.Handoff("b", Text(text="y"))]),
            "agent of langgraph: hand off to a plain function that fans",
        ),
    ],
    ids=["ask", "fan_out"],
)
async def test_in_a_graph(call: Callable[[bp.SyncContext], Any], told: str) -> None:
    app = bp.App("graph")

    @app.langgraph(
        "a", accepts=Text, returns=Reply, hands_to={"b": Text}, retries=1, leave=lambda _, ctx: Reply(text="")
    )
    def a() -> Any:
        graph = StateGraph(State)
        graph.add_node("n", lambda state: call(bp.current().sync))
        graph.add_edge(START, "n")
        return graph

    app.agent("b", accepts=Text, returns=Reply)(lambda ask: Reply(text=ask.text))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Text(text="x"))
        with pytest.raises(bp.JobFailed, match=told):
            await job.result(timeout=DEADLINE)
