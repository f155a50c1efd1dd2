"""Events: what happened to one job, oldest first. They are looked for among those of all jobs, a while at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from batonpass.contracts.errors import Trimmed
from batonpass.contracts.event import Event
from batonpass.coordinator.calls import adrive, events
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.snapshots import from_ms

from .words import Shown, exactly, shown

_PAGE = 100
_PATIENCE = 1.0  # seconds of looking


@dataclass(frozen=True)
class Happened:
    """An event, what it is in short, and what it says."""

    event: Event
    type: str
    says: Shown


@dataclass(frozen=True)
class EventsPage:
    """A page of a job's events. `after` leads on, also where none was found yet; `trimmed`: some are not kept."""

    job: str
    happened: tuple[Happened, ...]
    after: str | None
    trimmed: bool


async def of_job(coordinator: Coordinator, job_id: str, after: str) -> EventsPage:
    """What happened to a job behind a cursor."""
    coordinator.job(job_id)
    found: list[Event] = []
    trimmed, began = False, time.monotonic()
    reader = _reader(coordinator, job_id, after)
    while not reader.ended and len(found) < _PAGE and time.monotonic() - began < _PATIENCE:
        try:
            found += await adrive(coordinator.store, reader.page())
        except Trimmed as gone:
            reader, trimmed = _reader(coordinator, job_id, gone.first_available), True
    return EventsPage(job_id, tuple(map(_told, found)), None if reader.ended else reader.after, trimmed)


def _reader(coordinator: Coordinator, job_id: str, after: str) -> events.Reader:
    return events.Reader(after, job_id, events.which((), None, None), coordinator.url, follow=False)


def _told(event: Event) -> Happened:
    data = {**event.data, "due": exactly(from_ms(event.data["due"]))} if event.data.get("due") else event.data
    says = ", ".join(f"{name} {value}" for name, value in data.items())
    return Happened(event, event.type.removeprefix("batonpass."), shown(says))
