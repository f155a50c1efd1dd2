"""What the tests of every adapter share: what a job asks, what it kept, and what ran."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp


def labels(log: Path) -> list[str]:
    """What ran, in order."""
    return [line.split()[1] for line in log.read_text().splitlines()]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it, at most 10 s."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.01)


async def question(job: bp.Job[Any], after: Any = None) -> Any:
    """What the job asks, once it asks something else than `after`."""
    with anyio.fail_after(10):
        while (info := await job.info()).state != bp.JobState.INPUT_REQUIRED or info.question == after:
            assert not info.state.ended, info
            await anyio.sleep(0.01)
    return info.question


async def checkpoints(coordinator: bp.Coordinator, job: bp.Job[Any]) -> list[bp.Checkpoint]:
    """The job's checkpoints with their state, oldest first."""
    return [await coordinator.restore(each.id) for each in reversed(await coordinator.timeline(thread=job.id))]


async def outcome(one: bp.App, payload: bp.Contract) -> Any:
    """The result of a job at `a`, the app's only agent."""
    return await one.run("a", payload, timeout=20)


async def defeat(one: bp.App, payload: bp.Contract) -> bp.JobFailed:
    """How such a job fails."""
    with pytest.raises(bp.JobFailed) as caught:
        await outcome(one, payload)
    return caught.value
