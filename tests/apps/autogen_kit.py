"""What the tests of the AutoGen adapter share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import batonpass as bp

from .autogen_app import Draft, Report


def only(factory: Callable[[], Any], returns: type[bp.Contract] = Report, **options: Any) -> bp.App:
    """An app of one agent, `a`."""
    made = bp.App("one")
    made.autogen("a", accepts=Draft, returns=returns, **options)(factory)
    return made


async def steps(coordinator: bp.Coordinator, job: bp.Job[Any]) -> list[str]:
    """The steps of the job's checkpoints, oldest first."""
    return [checkpoint.step for checkpoint in reversed(await coordinator.timeline(thread=job.id))]
