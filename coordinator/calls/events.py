"""Calls about events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...contracts.event import Event
from ...contracts.understood import understood
from ..commands import Events, LastEvent
from ..rows import EventRow
from ..snapshots import from_ms
from . import Call
from .inputs import cursor

PAGE = 500
_NUMBERS = frozenset({"hop", "token", "attempt", "due", "freed"})
_ATTRIBUTES = frozenset({"type", "subject", "time"})


def page(after: str, subject: str, source: str) -> Call[tuple[list[Event], str]]:
    """Events after a cursor, and the cursor to go on from: equal to `after` when there is nothing more."""
    rows: list[EventRow] = yield Events(cursor(after), subject, PAGE)
    return [read(row, source) for row in rows if row.fields], rows[-1].position if rows else after


def last() -> Call[str]:
    """The cursor of now."""
    position: str = yield LastEvent()
    return position


@understood("event {0.position!r:.60}")
def read(row: EventRow, source: str) -> Event:
    """A stored event as users see it."""
    fields: Mapping[str, str] = row.fields
    data: dict[str, Any] = {name: value for name, value in fields.items() if name not in _ATTRIBUTES}
    data.update({name: int(data[name]) for name in _NUMBERS & data.keys()})
    return Event(
        id=row.position.partition("~")[0],  # over several partitions the position says of each how far it was read
        type=fields["type"],
        source=source,
        subject=fields["subject"],
        time=from_ms(int(fields["time"])),
        data=data,
        cursor=row.position,
    )
