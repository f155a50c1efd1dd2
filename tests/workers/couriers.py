"""Couriers in tests: what they are given to send, and how long a test waits for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio

import batonpass as bp
from batonpass.workers.webhooks import Courier

QUICK = (0.01,) * 4


@asynccontextmanager
async def delivering(
    coordinator: bp.Coordinator, timeout: float = 5.0, pauses: Sequence[float] = QUICK
) -> AsyncIterator[Courier]:
    courier = Courier(coordinator, pauses=pauses, timeout=timeout)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(courier.run)
        yield courier
        tasks.cancel_scope.cancel()


async def until(look: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not look():
            await anyio.sleep(0.01)


async def save(coordinator: bp.Coordinator, *steps: str) -> None:
    for step in steps:
        await coordinator.save(thread="run", agent="a", state=1, step=step)


async def all_done(coordinator: bp.Coordinator) -> None:
    with anyio.fail_after(20):
        while any(each.lag for each in await coordinator.webhooks()):
            await anyio.sleep(0.01)
