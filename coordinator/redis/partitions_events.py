"""Events over several partitions: in order within each, and so for each thread; by time across them.

A position is `5.1700000000000-0~...~1700000000000-0~...`: the partition and the place of the event itself, then how
far every partition was read up to it.

A position of a namespace that had fewer partitions, before `batonpass repartition` split each into several, is good for
those: their events have kept their ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...contracts.errors import Trimmed
from ...contracts.names import home
from .. import commands as c
from ..refusals import refusal
from ..rows import EventRow
from .partitions_plan import Ask, Plan, good

BEGINNING = "0-0"
_SINGLE = re.compile(r"\d+-\d+")


def events(command: c.Events, count: int) -> Plan[list[EventRow]]:
    """A page of the events of all partitions, or of a subject or thread, whose events are all in one."""
    read = _parse(command.after, count)
    about = command.subject or command.which.thread
    places = [home(about) % count] if about else range(count)
    full = command.limit if about else max(command.limit // count, 1)
    begun = [at for at in places if not read[at]]
    if begun:
        yield from begin(begun, read)
    asked = [(at, replace(command, after=read[at], limit=full)) for at in places]
    filtered = bool(command.which.types or command.which.agent)
    found: list[tuple[tuple[int, ...], int, EventRow]] = []
    ends: list[tuple[int, ...]] = []
    outcomes = yield asked
    if any(isinstance(each, Trimmed) and at in begun for at, each in zip(places, outcomes, strict=True)):
        return (yield from events(command, count))  # some were trimmed in between
    for (at, _), rows in zip(asked, _untrimmed(outcomes, asked, read), strict=True):
        found += [(_time(row.position), at, row) for row in rows]
        if len(rows) == full or (rows and filtered):
            ends.append(_time(rows[-1].position))
    if not found and not command.after:
        return [EventRow(position(asked[0][0], read), {})]
    # Beyond a partition's full share there may be more events of the same time, which the next page will have. (A share
    # with a filter does not tell whether it was full.)
    until = min(ends, default=None) if len(asked) > 1 else None
    found.sort(key=lambda each: each[:2])
    here = found if until is None else [each for each in found if each[0] <= until]
    page = [_placed(row, at, read) for _, at, row in here[: command.limit]]
    left = found[len(page) :]
    held = {at for _, at, row in left if row.fields}
    passed = [_placed(row, at, read) for _, at, row in left if at not in held]  # none there is wanted
    return page + passed[-1:]


def trim_events(command: c.TrimEvents, count: int) -> Plan[int]:
    """Each partition keeps its share of the events."""
    share = replace(command, keep=-(-command.keep // count))
    return sum(good((yield [(at, share) for at in range(count)])))


def begin(places: Sequence[int], read: list[str]) -> Plan[None]:
    """A cursor for the oldest events that are kept. It names a position in each partition, so that a reader misses
    nothing that is trimmed later without noticing."""
    found = yield [(at, c.Events(BEGINNING, limit=1)) for at in places]
    good([each for each in found if not isinstance(each, Trimmed)])
    for at, outcome in zip(places, found, strict=True):
        read[at] = outcome.first_available if isinstance(outcome, Trimmed) else BEGINNING


def _untrimmed(outcomes: list[Any], asked: Sequence[Ask], read: list[str]) -> list[Any]:
    """The answers. If some partitions have trimmed, the error names a position that is valid in all."""
    gone = {at: each for (at, _), each in zip(asked, outcomes, strict=True) if isinstance(each, Trimmed)}
    for at, error in gone.items():
        read[at] = error.first_available
    if gone:
        at, error = next(iter(gone.items()))
        raise type(error)(str(error), first_available=position(at, read))
    return good(outcomes)


def last_event(command: c.LastEvent, count: int) -> Plan[str]:
    """The position of the newest event of all."""
    read: list[str] = good((yield [(at, command) for at in range(count)]))
    newest = max(range(count), key=lambda at: (_time(read[at]), at))
    return position(newest, read)


def _placed(row: EventRow, at: int, read: list[str]) -> EventRow:
    read[at] = row.position
    return EventRow(position(at, read), row.fields)


def position(at: int, read: list[str]) -> str:
    """The cursor of a reader who has read up to here."""
    return "~".join([f"{at}.{read[at] or BEGINNING}", *read])


def _parse(position: str, count: int) -> list[str]:
    if not position:
        return [""] * count
    own, *read = position.split("~")
    if not read and _SINGLE.fullmatch(own):
        read = [own]
    elif "." not in own:
        read = []
    if not read or count % len(read):
        raise refusal("cursor", position)
    return read * (count // len(read))


def _time(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-")))
