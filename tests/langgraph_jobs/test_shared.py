"""Nodes that share a step or an effect, at the same moment: each has found it, and finds it again when it begins again
in a later visit (`memory="job"`). None gets a result before that is recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.coordinator.commands import Record, Save

from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import passed_on, returning
from ..workers.held import Held
from ..workers.serving import DEADLINE, serving

pytestmark = pytest.mark.capability("langgraph")
DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    DONE.clear()


def once() -> str:
    DONE["once"] += 1
    return "r"


async def shared(kind: str) -> None:
    ctx = bp.current()
    await (ctx.effect("open", once) if kind == "effect" else ctx.step("open", once, key="k"))


async def ran(factory: Callable[..., Any], url: str) -> list[str]:
    async with serving(returning(factory), url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        return (await job.result(timeout=DEADLINE)).notes


def only_marks(command: Record | Save) -> bool:
    return bool(command.records) and all(key.startswith(("mark/", "part/")) for key in command.records)


def has_step(command: Record | Save) -> bool:
    return any(key.startswith("step/") for key in command.records)


@pytest.mark.parametrize("kind", ["effect", "step"])
async def test_of_two_nodes_that_find_it_at_once_none_is_forgotten(
    kind: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the second one has found it is written after, but was decided before, that of the first one was written."""
    held = Held(monkeypatch, store_url, only_marks)

    async def opener(state: Any) -> Any:
        await shared(kind)

    async def delegate(state: Any) -> Any:
        await shared(kind)
        return {"notes": [passed_on("x")]}

    async def other(state: Any) -> Any:
        await held.until(lambda: held.asked == 1)
        async with asyncio.TaskGroup() as tasks:
            finds = tasks.create_task(shared(kind))
            await held.until(lambda: held.asked == 2)
            await held.set("allowed", 1)
            await held.until(lambda: held.returned == 1)
            await held.set("allowed", 10)
            await finds
        return {"notes": ["other"]}

    def desk() -> Any:
        made = StateGraph(Words).add_node("opener", opener).add_node("delegate", delegate).add_node("other", other)
        return made.add_edge(START, "opener").add_edge("opener", "delegate").add_edge("opener", "other")

    assert sorted(await ran(desk, store_url)) == ["other", "x back"]
    assert DONE == {"once": 1}


@pytest.mark.parametrize("kind", ["effect", "step"])
async def test_a_result_is_not_returned_before_it_is_recorded_and_is_the_finders_too(
    kind: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, store_url, lambda command: has_step(command) and not DONE["passed on"])
    recorded: list[int] = []

    async def first(state: Any) -> Any:
        await shared(kind)
        return {"notes": ["first"]}

    async def delegate(state: Any) -> Any:
        if not DONE["passed on"]:
            await held.until(lambda: held.asked == 1)
            async with asyncio.TaskGroup() as tasks:
                finds = tasks.create_task(shared(kind))
                finds.add_done_callback(lambda _: recorded.append(held.returned))
                waits = tasks.create_task(held.until(lambda: held.asked == 2))  # for the store, as the first one does
                await asyncio.wait([finds, waits], return_when=asyncio.FIRST_COMPLETED)
                await held.set("allowed", 10)
                await held.set("asked", 2)
            DONE["passed on"] += 1
        else:
            await shared(kind)
        return {"notes": [passed_on("x")]}

    def desk() -> Any:
        made = StateGraph(Words).add_node("first", first).add_node("delegate", delegate)
        return made.add_edge(START, "first").add_edge(START, "delegate")

    assert sorted(await ran(desk, store_url)) == ["first", "x back"]
    assert recorded[0] >= 1
    assert DONE["once"] == 1
