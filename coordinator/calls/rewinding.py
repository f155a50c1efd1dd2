"""Rewinding: what a follower does when the store goes back in time. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from itertools import zip_longest

from ...contracts import event as kinds
from ...contracts.errors import Trimmed
from ...contracts.lean import dataclass
from ..commands import Events, Which
from ..rows import EventRow
from . import Call

_PAGE = 500
# A follower remembers at least so many events: what a server writes in a second or two, which a failover may lose.
_REMEMBERED = 5000
_Mark = tuple[str, str, str]


@dataclass
class Memory:
    """What a follower has read last.

    A server that takes over may lack the newest events. If its clock is behind, it also places new events before those
    that the follower has read, where it does not look any more. The event that reports this comes after everything that
    anybody saw. Then the follower reads that stretch again, and what it does not remember from there is new.
    """

    job: str
    which: Which
    _pages: deque[tuple[str, frozenset[_Mark]]] = field(default_factory=deque[tuple[str, frozenset[_Mark]]])
    _count: int = 0

    def add(self, after: str, rows: Sequence[EventRow]) -> None:
        """Remember a page, and the position before it."""
        if not rows:
            return
        self._pages.append((after, frozenset(map(_mark, rows))))
        self._count += len(rows)
        while self._count - len(self._pages[0][1]) > _REMEMBERED:
            self._count -= len(self._pages.popleft()[1])

    def missed(self, before: str, rows: Sequence[EventRow]) -> Call[list[EventRow]]:
        """The events before this page that were missed, as described above. None if no event of the page reports that
        the store went back."""
        if not self._pages or not any(row.fields.get("type") == kinds.REWOUND for row in rows):
            return []
        seen = frozenset[_Mark]().union(*(marks for _, marks in self._pages))
        at, found = self._pages[0][0], list[EventRow]()
        while not _reached(at, before):
            try:
                again: list[EventRow] = yield Events(at, self.job, _PAGE, self.which)
            except Trimmed as error:
                if not error.first_available or error.first_available == at:
                    return found
                at = error.first_available
                continue
            if not again:
                break
            found += [row for row in again if row.fields and _mark(row) not in seen and _was_passed(row, before)]
            at = again[-1].position
        return found

    def wanted(self, row: EventRow) -> bool:
        """Whether the caller wants an event, or it was only read because it reports that the store went back."""
        types, kind = self.which.types, row.fields["type"]
        if kind != kinds.REWOUND:
            return True
        named = not types or any(kind == each or (each[-1] == "*" and kind.startswith(each[:-1])) for each in types)
        return named and not (self.job or self.which.agent or self.which.thread)


def _was_passed(row: EventRow, before: str) -> bool:
    """Whether a reader who is at `before` has passed an event's position. On a cluster each partition has its own
    order, and events of different partitions may be mixed differently each time."""
    at, _, place = row.position.partition("~")[0].rpartition(".")
    read = _places(before)
    return _order(place) <= read[int(at or 0) % len(read)]


def is_short_of(end: str, before: str, now: str) -> bool:
    """Whether a reader who came from `before` to `now` is still going on there. (Of one subject's events, only one
    partition is read.)"""
    steps = zip_longest(_places(before), _places(now), fillvalue=())
    return any(was != here < there for (was, here), there in zip(steps, _places(end), strict=False))


def _reached(at: str, before: str) -> bool:
    return all(here >= there for here, there in zip(_places(at), _places(before), strict=False))


def _places(position: str) -> list[tuple[int, ...]]:
    """How far each partition was read. A store without partitions counts as one."""
    own, *read = position.split("~")
    return [_order(each) for each in read or [own]]


def _order(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-"))) if place else ()


def _mark(row: EventRow) -> _Mark:
    """An event's own name, without how far other partitions were read. (Another event may have its position now.)"""
    return row.position.partition("~")[0], row.fields.get("type", ""), row.fields.get("subject", "")
