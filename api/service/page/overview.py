"""Overview: how the namespace stands, at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from batonpass.contracts.schedule import Schedule
from batonpass.contracts.webhook import WebhookInfo
from batonpass.coordinator.calls.schedules import overdue
from batonpass.coordinator.client import Coordinator

from ..standing import Gauge, Serving, Standing
from . import jobs
from .questions import Asking, asking

_FEW = 5
_SCHEDULES = 20


@dataclass(frozen=True)
class Count:
    """A number, what it counts, and where that is listed. `alarms` means that somebody should look."""

    number: int
    label: str
    href: str = ""
    alarms: bool = False


@dataclass(frozen=True)
class Timed:
    """A schedule, and for how many seconds it is overdue."""

    about: Schedule
    late: float


@dataclass(frozen=True)
class Sent:
    """A webhook, and where it sends to. The path of its URL may be a secret."""

    about: WebhookInfo
    host: str


@dataclass(frozen=True)
class Overview:
    """What the first page shows: `asked` and `failed` are the first few. Of the schedules it shows those that somebody
    should look at first, and leaves out so many (`more`)."""

    standing: Standing
    counts: tuple[Count, ...]
    agents: tuple[Serving, ...]
    asked: tuple[Asking, ...]
    failed: jobs.JobsPage
    schedules: tuple[Timed, ...]
    more: int
    webhooks: tuple[Sent, ...]


async def overview(coordinator: Coordinator, gauge: Gauge) -> Overview:
    """How it stands now."""
    standing = await gauge.look()
    load, waiting = standing.load, sum(each.waiting for each in standing.agents)
    unserved = any(each.waiting and not each.workers for each in standing.agents)
    timed = tuple(sorted(_timed(await coordinator.schedules(), load.now), key=_urgency))
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
        timed[:_SCHEDULES],
        len(timed[_SCHEDULES:]),
        tuple(Sent(each, urlsplit(each.url).hostname or "") for each in await coordinator.webhooks()),
    )


def _timed(found: list[Schedule], now: int) -> Iterator[Timed]:
    late = overdue(found, now)
    for each in found:
        yield Timed(each, late.get(each.name, 0))


def _urgency(timed: Timed) -> tuple[bool, bool, bool]:
    return not timed.late, not timed.about.error, not timed.about.paused
