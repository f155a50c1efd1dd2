"""Calls about events."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.bounds import is_count
from ...contracts.errors import BadSetup, Corrupted, Unavailable, Unreachable
from ...contracts.event import TYPES, Event
from ...contracts.understood import understood
from ..coded.texts import clear
from ..commands import Events, LastEvent, TrimEvents, Which
from ..rows import EVENT_ATTRIBUTES, EventRow
from ..snapshots import from_ms
from . import Call
from .inputs import cursor, name_wanted, text
from .rewinding import Memory, is_short_of

_log = logging.getLogger("batonpass.events")
PAGE = 500
# Seconds between two attempts to reach a store that is away.
_LONGEST_PAUSE = 1.0
# Seconds between two looks of a reader who is nearly up to date. (A look asks all partitions.)
_REST = 0.02
_PREFIX = "batonpass."
NOW = "now"  # instead of a cursor: after the newest event
_NUMBERS = frozenset({"hop", "token", "attempt", "due", "freed"})


class Reader:
    """One reader's way through the events, page by page. `ended`: there are no more yet. `behind`: there are more."""

    def __init__(self, after: str, job: str, which: Which, source: str, *, follow: bool) -> None:
        self.after: str = after if after == NOW else cursor(after)
        self.ended = self.behind = False
        self._newest = None if follow else ""  # where the events ended when the first page was read
        self._job = job
        self._which = which
        self._source = source
        self._memory = Memory(job, which)
        self._stored = True  # whether the cursor came from the caller; what we read ourselves is remembered
        self.patience = Patience()

    def page(self) -> Call[list[Event]]:
        """The next events. Each is returned once, even if the connection is lost in between. One that can't be read is
        `Corrupted` when those before it were returned, and the next page begins after it."""
        if self.after == NOW:
            self.after = yield from last()
            self._stored = False
        before = self.after
        rows: list[EventRow] = yield Events(before, self._job, PAGE, self._which, self._stored)
        self._stored = False
        found, damaged = _readable(rows, self._source)
        if damaged:
            rows = rows[: len(found) or 1]
        if self._newest is None:
            self._newest = yield from last()
        missed = yield from self._memory.missed(before, rows)
        self._memory.add(before, rows)
        self.after = rows[-1].position if rows else before
        # A page with a filter doesn't say how far it looked, nor one of several partitions how many a full one has.
        self.ended = not rows
        self.behind = len(rows) == PAGE or damaged is not None or is_short_of(self._newest, before, self.after)
        self.patience.over()
        if damaged and not found:
            damaged.after = self.after
            raise damaged
        late = [replace(read(row, self._source), cursor=before) for row in missed if self._memory.wanted(row)]
        return late + [event for row, event in zip(rows, found, strict=True) if event and self._memory.wanted(row)]


class Patience:
    """How a reader waits who survives outages, and is woken up to a thousand times a second."""

    def __init__(self, what: str = "events are") -> None:
        self._what = what
        self._troubles = 0
        self._looked = 0.0

    def rest(self) -> float:
        """For how many seconds to wait before the next look. 0 if the last one was long ago."""
        now = time.monotonic()
        pause = max(self._looked + _REST - now, 0.0)
        self._looked = now + pause
        return pause

    def pause(self, error: Unavailable) -> float:
        """For how many seconds to wait for a store that is away. Raises its error if it will not come back."""
        if isinstance(error, Unreachable) and error.lasting:
            raise error
        if not self._troubles:
            _log.warning("%s late: %s", self._what, error)
        self._troubles += 1
        return min(0.1 * self._troubles, _LONGEST_PAUSE)

    def over(self) -> None:
        """The store has answered."""
        self._troubles = 0


def which(types: str | Sequence[str], agent: str | Agent[Any] | None, thread: str | None) -> Which:
    """Which events a caller wants. The types' common prefix may be left out."""
    listed: Any = types  # users without a type checker give anything
    if not isinstance(listed, str | Iterable) or isinstance(listed, bytes | Mapping):
        raise BadSetup(f"types={listed!r}, but it must be an event type, e.g. 'job.*', or a list of them")
    given = (types,) if isinstance(types, str) else tuple(text(each, "type of events") for each in types)
    full = tuple(each if each.startswith((_PREFIX, "*")) else _PREFIX + each for each in given)
    for each, type_ in zip(given, full, strict=True):
        if not any(known == type_ or (type_[-1:] == "*" and known.startswith(type_[:-1])) for known in TYPES):
            known = ", ".join(sorted(known.removeprefix(_PREFIX) for known in TYPES))
            raise BadSetup(
                f"{each!r} is not an event type: write e.g. job.* for all that start with job., or one of {known}"
            )
    return Which(name_wanted(agent) or "", text(thread or "", "thread"), full)


def keep(count: int) -> int:
    """How many events a caller wants to keep."""
    if not is_count(count):
        raise BadSetup(f"{count!r} events can't be kept: it must be 1 or more")
    return count


def trim(count: int) -> Call[int]:
    """Delete all but the newest events. Returns how many."""
    freed = 0
    while went := (yield TrimEvents(keep(count))):
        freed += went
    return freed


def last() -> Call[str]:
    """The cursor of now."""
    position: str = yield LastEvent()
    return position


def _readable(rows: Sequence[EventRow], source: str) -> tuple[list[Event | None], Corrupted | None]:
    """The events of the rows up to one that can't be read, and why. (None: there is only a position.)"""
    found: list[Event | None] = []
    for row in rows:
        try:
            found.append(read(row, source) if row.fields else None)
        except Corrupted as error:
            return found, error
    return found, None


@understood("event {0.position!r:.60}")
def read(row: EventRow, source: str) -> Event:
    """A stored event as users see it."""
    fields: Mapping[str, str] = row.fields
    data: dict[str, Any] = {name: value for name, value in fields.items() if name not in EVENT_ATTRIBUTES}
    data.update({name: int(data[name]) for name in _NUMBERS & data.keys()})
    if data.get("at", "").isdecimal():  # a schedule's time. An imported event's is a text
        data["at"] = int(data["at"])
    if "error" in data:
        data["error"] = clear(data["error"])
    return Event(
        id=row.position.partition("~")[0],  # the rest of a position says how far each other partition was read
        type=fields["type"],
        source=source,
        subject=fields["subject"],
        time=from_ms(int(fields["time"])),
        data=data,
        cursor=row.position,
    )
