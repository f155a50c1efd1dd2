"""Happened: the next events that somebody wants. A request looks for them only for a short while."""

from __future__ import annotations

import time

from batonpass.cli.failure import kind_of
from batonpass.cli.options import listed
from batonpass.contracts.errors import Corrupted, Rewound, Trimmed
from batonpass.contracts.event import Event
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.events import Reader, which
from batonpass.coordinator.client import Coordinator

from .refusing import BadRequest

_PATIENCE = 1.0  # seconds of looking


def reader(
    coordinator: Coordinator,
    after: str,
    job: str | None,
    *,
    thread: str = "",
    agent: str | None = None,
    types: str = "",
    follow: bool = False,
) -> Reader:
    """A reader of the events after a cursor. `types` are separated by commas."""
    if job:
        coordinator.job(job)  # refuses anything that is not an id
    return Reader(after, job or "", which(listed([types]), agent or None, thread), coordinator.url, follow=follow)


def passed_over(gap: Rewound | Trimmed | Corrupted) -> BadRequest:
    """What to tell a reader who can't have all events: what is missing, and where to go on."""
    if isinstance(gap, Corrupted):
        why, after = str(gap), gap.after
    else:
        lost = "this cursor's event was lost with the store's last writes, or never was there"
        kept = "events after this cursor are not kept any more"
        why, after = lost if isinstance(gap, Rewound) else kept, gap.first_available
    return BadRequest(f"{why}: go on with after={after}", status=410, after=after, kind=kind_of(gap))


async def following(coordinator: Coordinator, reader: Reader, least: int) -> list[Event]:
    """At least `least` of the next events, or fewer if there are not that many, or if that takes long. `reader.after`
    is where to continue, even if there are none."""
    found: list[Event] = []
    began = time.monotonic()
    while not reader.ended and len(found) < least and time.monotonic() - began < _PATIENCE:
        after = reader.after
        try:
            found += await adrive(coordinator.store, reader.page())
        except Corrupted:
            if not found:
                raise
            reader.after = after  # the next request tells of it
            break
    return found
