"""A step whose record is on its way, or could not be written: its result is used only when it is recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

import batonpass as bp

from .held import Held
from .serving import DEADLINE, Ask, Reply, only, serving

DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    DONE.clear()


def once() -> str:
    DONE["once"] += 1
    return "r"


async def test_a_task_that_finds_it_on_its_way_gets_it_when_it_is_recorded(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, store_url, lambda command: "step/fetch:k" in command.records)
    recorded: list[int] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.step("fetch", once, key="k"))
            await held.until(lambda: held.asked == 1)
            finds = tasks.create_task(ctx.step("fetch", once, key="k"))
            finds.add_done_callback(lambda _: recorded.append(held.returned))
            waits = tasks.create_task(held.until(lambda: held.asked == 2))  # for the store, as the first one does
            await asyncio.wait([finds, waits], return_when=asyncio.FIRST_COMPLETED)
            await held.set("allowed", 2)
            await held.set("asked", 2)
        return Reply(text=await finds)

    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "r"
    assert recorded[0] >= 1
    assert DONE == {"once": 1}


def refuse_once(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """The first write of a step fails."""
    with bp.connect(url) as coordinator:
        kind = type(coordinator.store)
    call, acall = kind.call, kind.acall

    def check(command: Any) -> None:
        if any(key.startswith("step/") for key in getattr(command, "records", ())) and not DONE["refused"]:
            DONE["refused"] += 1
            raise OSError("no")

    def checked(store: Any, command: Any) -> Any:
        check(command)
        return call(store, command)

    async def achecked(store: Any, command: Any) -> Any:
        check(command)
        return await acall(store, command)

    monkeypatch.setattr(kind, "call", checked)
    monkeypatch.setattr(kind, "acall", achecked)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("what", ["step", "effect"])
async def test_one_that_could_not_be_recorded_is_when_it_is_called_again(
    kind: str, what: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the next attempt has it."""
    refuse_once(monkeypatch, store_url)

    def call(ctx: Any) -> Any:
        return ctx.effect("pay", once) if what == "effect" else ctx.step("fetch", once, key="k")

    def fails(ctx: Any) -> None:
        if ctx.attempt == 1:
            raise ValueError("fails")

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        if ctx.attempt == 1:
            with pytest.raises(OSError, match="no"):
                call(ctx)
        result = call(ctx)
        fails(ctx)
        return Reply(text=result)

    async def async_agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            with pytest.raises(OSError, match="no"):
                await call(ctx)
        result = await call(ctx)
        fails(ctx)
        return Reply(text=result)

    async with serving(only(agent if kind == "sync" else async_agent, retries=2), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "r"
    assert DONE == {"once": 1, "refused": 1}
