"""Events: what happened to one job, oldest first."""

from __future__ import annotations

from dataclasses import dataclass

from batonpass.contracts.errors import Corrupted, Trimmed
from batonpass.contracts.event import Event
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.snapshots import from_ms

from ..happened import following, reader
from .words import Shown, exactly, shown

_PAGE = 100


@dataclass(frozen=True)
class Happened:
    """An event, its type in short, and what it says."""

    event: Event
    type: str
    says: Shown


@dataclass(frozen=True)
class EventsPage:
    """A page of a job's events. `after` leads on, even if none was found yet. `trimmed` says that some are not kept,
    `damaged` what is wrong with the one that comes before those that follow."""

    job: str
    happened: tuple[Happened, ...]
    after: str | None
    trimmed: bool
    damaged: str = ""


async def of_job(coordinator: Coordinator, job_id: str, after: str) -> EventsPage:
    """What happened to a job after a cursor."""
    coordinator.job(job_id)
    way, trimmed = reader(coordinator, after, job_id), False
    try:
        try:
            found = await following(coordinator, way, _PAGE)
        except Trimmed as gone:
            way, trimmed = reader(coordinator, gone.first_available, job_id), True
            found = await following(coordinator, way, _PAGE)
    except Corrupted as error:
        return EventsPage(job_id, (), error.after, trimmed, str(error))
    return EventsPage(job_id, tuple(map(_told, found)), None if way.ended else way.after, trimmed)


def _told(event: Event) -> Happened:
    times = {name: value for name, value in event.data.items() if name in ("due", "at") and isinstance(value, int)}
    data = {**event.data, **{name: exactly(from_ms(value)) for name, value in times.items() if value}}
    says = ", ".join(f"{name} {value}" for name, value in data.items())
    return Happened(event, event.type.removeprefix("batonpass."), shown(says))
