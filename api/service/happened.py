"""Happened: the next events that somebody wants. A request looks for them only for a short while."""

from __future__ import annotations

import time

from batonpass.cli.options import listed
from batonpass.contracts.errors import Corrupted
from batonpass.contracts.event import Event
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.events import Reader, which
from batonpass.coordinator.client import Coordinator

_PATIENCE = 1.0  # seconds of looking


def reader(
    coordinator: Coordinator, after: str, job: str | None, *, thread: str = "", agent: str = "", types: str = ""
) -> Reader:
    """A reader of the events after a cursor. `types` are separated by commas."""
    return Reader(after, job or "", which(listed([types]), agent or None, thread), coordinator.url, follow=False)


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
