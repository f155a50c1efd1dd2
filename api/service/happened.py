"""Happened: the next events of those that somebody wants, which are looked for a while at a time."""

from __future__ import annotations

import time

from batonpass.contracts.event import Event
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.events import Reader, which
from batonpass.coordinator.client import Coordinator

_PATIENCE = 1.0  # seconds of looking


def reader(
    coordinator: Coordinator, after: str, job: str | None, *, thread: str = "", agent: str = "", types: str = ""
) -> Reader:
    """A way through the events behind a cursor. `types` have commas between."""
    listed = [each.strip() for each in types.split(",") if each.strip()]
    return Reader(after, job or "", which(listed, agent or None, thread), coordinator.url, follow=False)


async def following(coordinator: Coordinator, reader: Reader, least: int) -> list[Event]:
    """The next events, so many if there are: fewer if that takes long. `reader.after` leads on, also from none."""
    found: list[Event] = []
    began = time.monotonic()
    while not reader.ended and len(found) < least and time.monotonic() - began < _PATIENCE:
        found += await adrive(coordinator.store, reader.page())
    return found
