"""Cron: the times of an expression in a time zone, in ms since 1970.

As in Debian's cron: a time that the clocks skip comes right after the change, a time that they repeat comes once, and
what recurs every hour or minute goes by the time that really passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ..contracts.errors import BadSetup
from .calls.inputs import text

# Around a change of the clocks, local times are not in the order of time.
_CHANGE = timedelta(hours=3)


def check(cron: str, timezone: str) -> None:
    """Refuse an expression that is malformed, or never due. Of six fields, the first is the seconds."""
    from cronsim import CronSim, CronSimError

    text(cron, "cron expression")
    try:
        zone = ZoneInfo(text(timezone, "timezone"))
    except (KeyError, ValueError, OSError):
        raise BadSetup(f"timezone={timezone!r} is unknown: use a name such as Europe/Berlin or UTC") from None
    try:
        due = next(CronSim(cron, datetime.now(zone)), None)
    except CronSimError as error:
        raise BadSetup(f"cron={cron!r} is not a cron expression ({error}): write e.g. '0 9 * * 1-5'") from None
    if due is None:
        raise BadSetup(f"cron={cron!r} is never due")


def following(cron: str, timezone: str, after: int) -> int | None:
    """The first time after a given time, or None."""
    return next((at for at in _times(cron, _local(after, timezone)) if at > after), None)


def latest(cron: str, timezone: str, after: int, now: int) -> int | None:
    """The last time after one given time and up to another, or None."""
    from cronsim import CronSim

    first = following(cron, timezone, after)
    if first is None or first > now:
        return None
    near: datetime | None = next(CronSim(cron, _local(now + 1000, timezone), reverse=True), None)
    start = _local(after, timezone) if near is None else near - _CHANGE
    found = first
    for at in _times(cron, start):
        if at > now:
            break
        found = max(found, at)
    return found


def _local(at: int, timezone: str) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(timezone))


def _times(cron: str, start: datetime) -> Iterator[int]:
    from cronsim import CronSim

    return (int(due.timestamp() * 1000) for due in CronSim(cron, start))
