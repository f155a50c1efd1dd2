"""Subgraphs that keep nothing (`compile(checkpointer=False)`) in the graph of a job."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic
from ..apps.langgraph_kit import graph, only, result
from ..workers.serving import DEADLINE, serving

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


def look(state: Any) -> Any:
    return {"notes": [f"looked at {state['text']}"]}


def close(state: Any) -> Any:
    return {"notes": ["closed"]}


def part() -> Any:
    return graph(look, close).compile(checkpointer=False)


async def test_one_that_is_a_node_runs() -> None:
    def factory() -> Any:
        made = graph(look)
        made.add_node("part", part())
        made.add_edge("look", "part")
        return made

    assert (await result(factory)).notes[-2:] == ["looked at rain", "closed"]


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_one_that_a_node_calls_runs(side: str) -> None:
    def call(state: Any) -> Any:
        return part().invoke({"text": state["text"]})

    async def acall(state: Any) -> Any:
        return await part().ainvoke({"text": state["text"]})

    def factory() -> Any:
        return graph(call if side == "sync" else acall)

    assert await result(factory) == Notes(notes=["looked at rain", "closed"])


def ask(state: Any) -> Any:
    return {"notes": [f"told {interrupt('name?')}"]}


@pytest.mark.parametrize("side", ["node", "called"])
async def test_one_that_asks_is_refused_when_it_is_answered(side: str, sqlite_url: str) -> None:
    """LangGraph would give its question another id each time, and ask for ever. As a part that keeps its state, it
    gets the answer."""

    def app(checkpointer: bool | None) -> bp.App:
        def asking() -> Any:
            return graph(ask).compile(checkpointer=checkpointer)

        def call(state: Any) -> Any:
            return asking().invoke({"text": state["text"]})

        def factory() -> Any:
            made = graph(look)
            made.add_node("part", asking() if side == "node" else call)
            made.add_edge("look", "part")
            return made

        return only(factory)

    async with serving(app(False), sqlite_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert await question(job) == "name?"
        await job.answer("Ann")
        with pytest.raises(bp.JobFailed, match="compiled with checkpointer=False asks, but"):
            await job.result(timeout=DEADLINE)
    async with serving(app(None), sqlite_url) as coordinator:
        job = coordinator.job(job.id, returns=Notes)
        await coordinator.redrive(job.id)
        for _ in range(2):  # the question of before, and the part's own
            assert await question(job) == "name?"
            await job.answer("Ann")
        assert (await job.result(timeout=DEADLINE)).notes[-1] == "told Ann"
