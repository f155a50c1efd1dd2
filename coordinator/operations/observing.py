"""Reading events, and trimming them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...contracts import event as kinds
from ..commands import Events, LastEvent, TrimEvents, Which
from ..records import Records
from ..refusals import refusal
from ..rows import EventRow


def events(records: Records, command: Events) -> list[EventRow]:
    """The wanted events among the next ones, and the position up to which was looked."""
    if command.after and not command.after.isdigit():
        raise refusal("cursor", command.after)
    gone = records.trimmed()
    if command.after and int(command.after) < int(gone):
        raise refusal("trimmed", command.after, gone)
    if command.stored and command.after and not _is_there(records, int(command.after), int(gone)):
        raise refusal("rewound", command.after, gone)
    rows = records.events(command.after or gone, command.limit)
    if not rows and not command.after:
        return [EventRow(gone, {})]
    fits = wanted(records, command.which)
    found = [row for row in rows if _rewound(row) or (fits(row) and command.subject in ("", row.fields["subject"]))]
    if rows and (not found or found[-1] is not rows[-1]):
        found.append(EventRow(rows[-1].position, {}))
    return found


def _is_there(records: Records, number: int, gone: int) -> bool:
    """Whether an event is there, or was trimmed. Another one is never given its number."""
    last = int(records.last_event())
    return number in (gone, last) or (number < last and records.events(str(number - 1), 1)[0].position == str(number))


def _rewound(row: EventRow) -> bool:
    """Whether it reports that the store went back in time, which every reader has to know."""
    return row.fields["type"] == kinds.REWOUND


def wanted(records: Records, which: Which) -> Callable[[EventRow], bool]:
    """Whether an event is wanted."""
    exact = frozenset(which.types)
    prefixes = tuple(each[:-1] for each in which.types if each.endswith("*"))

    @cache
    def on_thread(subject: str) -> bool:
        job = records.job(subject)
        return subject == which.thread or bool(job and job.thread == which.thread)

    def fits(row: EventRow) -> bool:
        kind = row.fields["type"]
        return (
            (not which.types or kind in exact or kind.startswith(prefixes))
            and which.agent in ("", row.fields.get("agent", ""))
            and (not which.thread or on_thread(row.fields["subject"]))
        )

    return fits


def last_event(records: Records, command: LastEvent) -> str:
    """The position of the newest event."""
    return records.last_event()


def trim_events(records: Records, command: TrimEvents) -> int:
    """Free the oldest events."""
    return records.trim_events(command.keep, command.limit)
