"""Nodes that share a step or an effect, at the same moment: each has found it, and finds it again when it begins again
in a later visit (`memory="job"`)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.coordinator.commands import Record

from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import passed_on, returning
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


class Held:
    """Journal writes that are held back, and in which order they go on to the store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str, which: Callable[[Record], bool]) -> None:
        self.asked, self.returned, self.allowed = 0, 0, 0
        self._changed = asyncio.Condition()
        with bp.connect(url) as coordinator:
            kind = type(coordinator.store)
        ask = kind.acall

        async def acall(store: Any, command: Any) -> Any:
            if not isinstance(command, Record) or not which(command):
                return await ask(store, command)
            turn = self.asked
            await self.set("asked", turn + 1)
            await self.until(lambda: self.allowed > turn)
            await ask(store, command)
            await self.set("returned", self.returned + 1)
            return None

        monkeypatch.setattr(kind, "acall", acall)

    async def set(self, name: str, number: int) -> None:
        async with self._changed:
            setattr(self, name, number)
            self._changed.notify_all()

    async def until(self, so: Callable[[], bool]) -> None:
        with anyio.fail_after(DEADLINE):
            async with self._changed:
                await self._changed.wait_for(so)


def only_marks(command: Record) -> bool:
    return all(key.startswith(("mark/", "part/")) for key in command.records)


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
