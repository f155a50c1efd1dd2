"""Events over several partitions: in order within each, and so for each thread; by time across them.

A position is `5.1700000000000-0~...~1700000000000-0~...`: the partition and the place of the event itself, then how
far every partition was read up to it.
"""

from __future__ import annotations

from ...contracts.names import home
from .. import commands as c
from ..refusals import refusal
from ..rows import EventRow
from .partitions_plan import Plan, good

_BEGINNING = "0-0"


def events(command: c.Events, count: int) -> Plan[list[EventRow]]:
    """A page of all partitions' events, or of a subject's, which are all in one."""
    read = _parse(command.after, count)
    if command.subject:
        at = home(command.subject) % count
        asked = [(at, c.Events(read[at], command.subject, command.limit))]
        full = command.limit
    else:
        full = max(command.limit // count, 1)
        asked = [(at, c.Events(read[at], "", full)) for at in range(count)]
    found: list[tuple[tuple[int, ...], int, EventRow]] = []
    ends: list[tuple[int, ...]] = []
    for (at, _), rows in zip(asked, good((yield asked)), strict=True):
        found += [(_time(row.position), at, row) for row in rows]
        if len(rows) == full:
            ends.append(_time(rows[-1].position))
    # Beyond the end of a partition's full share there may be more of that time: the next page has it.
    until = min(ends, default=None) if len(asked) > 1 else None
    page = sorted((each for each in found if until is None or each[0] <= until), key=lambda each: each[:2])
    return [_placed(row, at, read) for _, at, row in page[: command.limit]]


def last_event(command: c.LastEvent, count: int) -> Plan[str]:
    """The position of the newest events of all."""
    read: list[str] = good((yield [(at, command) for at in range(count)]))
    newest = max(range(count), key=lambda at: (_time(read[at]), at))
    return _position(newest, ["" if place == _BEGINNING else place for place in read])


def _placed(row: EventRow, at: int, read: list[str]) -> EventRow:
    read[at] = row.position
    return EventRow(_position(at, read), row.fields)


def _position(at: int, read: list[str]) -> str:
    return "~".join([f"{at}.{read[at] or _BEGINNING}", *read])


def _parse(position: str, count: int) -> list[str]:
    if not position:
        return [""] * count
    own, *read = position.split("~")
    if "." not in own or len(read) != count:
        raise refusal("cursor", position)
    return read


def _time(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-")))
