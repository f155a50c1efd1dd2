"""Cron: the times of an expression in a time zone, in ms since 1970.

An expression is looked for among what a zone's clock shows (its readings, as if each were UTC), and what was found is
put into real time here. So five fields and six mean the same, whatever a zone does with its clocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ..contracts.errors import BadSetup
from .calls.inputs import text

# Seconds. No zone changes its clocks twice in that time, or by more.
_WEEK = 7 * 24 * 3600
# Characters of an expression, which each worker reads again and again: each value of each field takes fewer.
_LONGEST = 600
_FIELDS = (
    ("second", 0, 59),
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day-of-month", 1, 31),
    ("month", 1, 12),
    ("day-of-week", 0, 6),
)
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_NAMED = {name: at for at, name in enumerate(_DAYS)} | {name: at for at, name in enumerate(_MONTHS, 1)}
# What other programs take in place of the fields.
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def check(cron: str, timezone: str) -> None:
    """Refuse an expression that is malformed, too long, or never due. Of six fields, the first is the seconds."""
    from cronsim import CronSim, CronSimError

    if len(text(cron, "cron expression")) > _LONGEST:
        raise BadSetup(
            f"the cron expression {cron[:20]!r}... has {len(cron):,} characters, and may have {_LONGEST}: write ranges "
            "and steps, or make several schedules"
        )
    try:
        ZoneInfo(text(timezone, "timezone"))
    except (KeyError, ValueError, OSError):
        raise BadSetup(f"timezone={timezone!r} is unknown: use a name such as Europe/Berlin or UTC") from None
    if fields := _NICKNAMES.get(cron.strip().lower()):
        raise BadSetup(f"cron={cron!r} is not a cron expression of five fields: write {fields!r}")
    _check_terms(cron)
    try:
        due = next(CronSim(cron, datetime.now(UTC)), None)
    except CronSimError as error:
        raise BadSetup(f"cron={cron!r} is not a cron expression ({error}): write e.g. '0 9 * * 1-5'") from None
    if due is None:
        raise BadSetup(f"cron={cron!r} is never due")


def _check_terms(cron: str) -> None:
    """Refuse a step that never comes to a second value, which would silently mean another interval, and a range that
    goes round. What else is wrong, the parser tells."""
    parts = cron.upper().split()
    if len(parts) not in (5, 6):
        return
    for (field, first, last), part in zip(_FIELDS[-len(parts) :], parts, strict=True):
        for term in part.split(","):
            values, _, step = term.partition("/")
            if (_number(step) or 0) > (most := last - first + 1):
                larger = ". Use the field of a larger unit: every two hours are '0 */2 * * *'"
                raise BadSetup(
                    f"cron={cron!r}: in {term!r}, the step is larger than the {field} field, which has {most} values: "
                    f"it would only come at the first one{larger if field in ('second', 'minute') else ''}"
                )
            start, _, end = values.partition("-")
            begins, ends = _number(start), _number(end)
            if begins is not None and ends is not None and ends < begins <= last:
                raise BadSetup(
                    f"cron={cron!r}: {values!r} in the {field} field goes backwards: write it as two ranges, "
                    f"'{start}-{last},{first}-{end}'"
                )


def _number(text: str) -> int | None:
    if text.isascii() and text.isdecimal():
        return int(text)
    return _NAMED.get(text)


def following(cron: str, timezone: str, after: int) -> int | None:
    """The first time after a given time, or None."""
    hours = cron.split()[-4]  # the second of five fields, the third of six
    find = _recurring if hours.startswith(("*", "0-23")) else _of_day
    due = find(cron, ZoneInfo(timezone), after // 1000 + 1)
    return None if due is None else due * 1000


def latest(cron: str, timezone: str, after: int, now: int) -> int | None:
    """The last time after one given time and up to another, or None."""
    found = following(cron, timezone, after)
    if found is None or found > now:
        return None
    look, end = found, now  # mostly, none comes after the first
    while end - found >= 1000:
        later = following(cron, timezone, look)
        if later is None or later > now:
            end = look
        else:
            found = later
        look = (found + end) // 2
    return found


def _of_day(cron: str, zone: ZoneInfo, begin: int) -> int | None:
    """Times of day: each reading counts once. They come in the order of their readings."""
    shown = begin - 1 + _offset(zone, begin - 1)
    return next((at for reading in _readings(cron, shown) if (at := _once(zone, reading)) >= begin), None)


def _once(zone: ZoneInfo, reading: int) -> int:
    """When a clock first shows a reading, or is put forward over it."""
    shown = datetime.fromtimestamp(reading, UTC).replace(tzinfo=zone)
    first, second = (int(shown.replace(fold=fold).timestamp()) for fold in (0, 1))
    put_forward = _change(zone, second, first) if second < first else None
    return first if put_forward is None else put_forward


def _recurring(cron: str, zone: ZoneInfo, begin: int) -> int | None:
    """What comes every hour, or every few: whenever the clock shows it. What the clock skips comes when it would have
    been shown if the clock had been left alone, so that as much time has passed since the one before as ever."""
    change = _change(zone, begin - _WEEK, begin)
    while True:
        offset = _offset(zone, begin)
        due = _first(cron, begin, offset)
        if due is None:
            return None
        if change is not None:
            before = _offset(zone, change - 1)
            skipped = _first(cron, begin, before)
            if skipped is not None and skipped < change + offset - before:
                due = min(due, skipped)
        coming = _change(zone, begin, due)
        if coming is None:
            return due
        begin = change = coming


def _first(cron: str, begin: int, offset: int) -> int | None:
    """The first time at or after another, on a clock that is never changed."""
    reading = next(_readings(cron, begin - 1 + offset), None)
    return None if reading is None else reading - offset


def _readings(cron: str, after: int) -> Iterator[int]:
    """The readings after another at which an expression is due, in their order."""
    from cronsim import CronSim

    return (int(due.timestamp()) for due in CronSim(cron, datetime.fromtimestamp(after, UTC)))


def _change(zone: ZoneInfo, since: int, until: int) -> int | None:
    """The first moment after one and up to another at which the clock is changed, or None."""
    offset = _offset(zone, since)
    for start in range(since, until, _WEEK):
        moments = range(start + 1, min(start + _WEEK, until) + 1)
        if _offset(zone, moments[-1]) != offset:
            return moments[bisect_left(moments, True, key=lambda at: _offset(zone, at) != offset)]
    return None


def _offset(zone: ZoneInfo, at: int) -> int:
    """How far the clock is ahead of UTC, in seconds."""
    return int(datetime.fromtimestamp(at, zone).replace(tzinfo=UTC).timestamp()) - at
