"""Agents whose effects fail in tasks and threads beside their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import batonpass as bp

from .serving import Ask, Reply, only, serving

Acts: TypeAlias = Callable[[bp.Context], Awaitable[Any]]
ONCE = bp.Retry(attempts=1)
# What is left to itself, and would be collected.
TASKS: set[asyncio.Future[Any]] = set()


async def lost() -> None:
    raise ConnectionError("the reply was lost")


def lost_there() -> None:
    raise ConnectionError("the reply was lost")


def pays(ctx: bp.Context) -> asyncio.Task[Any]:
    return asyncio.create_task(ctx.effect("pay", lost))


async def settled(task: asyncio.Task[Any]) -> None:
    with contextlib.suppress(ConnectionError):
        await task


async def outcome(acts: Acts) -> tuple[str, str]:
    """How a job ends whose agent acts like this: its state, and why."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await acts(ctx)
        return Reply(text="done")

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # some tasks' errors are nobody's
    async with serving(only(agent, retries=ONCE), "memory://") as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with contextlib.suppress(bp.JobFailed, bp.JobRejected):
            await job.result(timeout=30)
        info = await job.info()
        return info.state, info.reason


async def turns() -> None:
    """Let the loop have some turns, in which it is looked what other tasks do."""
    for _ in range(6):
        await asyncio.sleep(0)
