"""Workers in the test's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

import batonpass as bp

DEADLINE = 90.0


class Ask(bp.Contract, name="workers.ask"):
    text: str = ""
    number: int = 0


class Reply(bp.Contract, name="workers.reply"):
    text: str


def only(fn: Callable[..., Any], **options: Any) -> bp.App:
    """An app of one agent, `a`, that replies."""
    made = bp.App("one")
    options = {"returns": Reply, **options}
    decorator: Any = made.agent("a", accepts=Ask, **options)
    decorator(fn)
    return made


@asynccontextmanager
async def serving(app: bp.App, url: str = "memory://", **options: Any) -> AsyncIterator[bp.Coordinator]:
    """A coordinator, and a worker that serves all of the app's agents."""
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator, **options):
        yield coordinator


async def reached(job: bp.Job[Any], *states: bp.JobState, reason: str = "") -> bp.JobInfo:
    """Wait until the job is in one of the states (for this reason, if one is given)."""
    with anyio.fail_after(DEADLINE):
        while (info := await job.info()).state not in states or reason not in ("", info.reason):
            await anyio.sleep(0.005)
    return info


async def kinds(coordinator: bp.Coordinator, job: bp.Job[Any]) -> list[str]:
    """What happened to the job, in order."""
    return [event.type.removeprefix("batonpass.") async for event in coordinator.events(job=job.id)]


async def parked(job: bp.Job[Any]) -> str:
    """What is said of a job that its guard has parked."""
    info = await reached(job, bp.JobState.FAILED, bp.JobState.COMPLETED)
    assert (info.state, info.reason) == (bp.JobState.FAILED, "chain_guard")
    assert info.error is not None
    return info.error
