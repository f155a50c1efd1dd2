"""Overview: how the namespace stands, at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from batonpass.coordinator.client import Coordinator

from ..standing import Gauge, Serving, Standing
from . import jobs
from .questions import Asking, asking

_FEW = 5


@dataclass(frozen=True)
class Count:
    """A number, what it counts, and where that is listed. `alarms` means that somebody should look."""

    number: int
    label: str
    href: str = ""
    alarms: bool = False


@dataclass(frozen=True)
class Overview:
    """What the first page shows: `asked` and `failed` are the first few."""

    standing: Standing
    counts: tuple[Count, ...]
    agents: tuple[Serving, ...]
    asked: tuple[Asking, ...]
    failed: jobs.JobsPage


async def overview(coordinator: Coordinator, gauge: Gauge) -> Overview:
    """How it stands now."""
    standing = await gauge.look()
    load, waiting = standing.load, sum(each.waiting for each in standing.agents)
    unserved = any(each.waiting and not each.workers for each in standing.agents)
    return Overview(
        standing,
        (
            Count(load.asking, "ask somebody", "/ui/inbox"),
            Count(load.dead, "failed", "/ui/dead-letters", bool(load.dead)),
            Count(waiting, "ready to run", "/ui/jobs?state=submitted", unserved),
            Count(load.running, "running", "/ui/jobs?state=working"),
            Count(load.timed, "due later"),
            Count(load.jobs, "jobs in all", "/ui/jobs"),
        ),
        standing.agents,
        tuple(map(asking, await coordinator.inbox(limit=_FEW))),
        await jobs.dead(coordinator, "", "", limit=_FEW),
    )
