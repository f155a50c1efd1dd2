"""Subgraphs that keep nothing (`compile(checkpointer=False)`) in the graph of a job."""

from __future__ import annotations

from typing import Any

import pytest

from ..apps.langgraph_app import Notes
from ..apps.langgraph_kit import graph, result

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
