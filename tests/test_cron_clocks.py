"""Times of cron expressions around every kind of change of the clocks, against a walk through the real time."""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batonpass.coordinator import cron

# The walk looks at every tenth second: expressions here name no others.
STEP = 10
# Days on which a zone changes its clocks: by an hour, at midnight, by half an hour, by two hours, by a whole day.
CHANGES = [
    ("Europe/Berlin", "2026-03-29"),
    ("Europe/Berlin", "2026-10-25"),
    ("America/New_York", "2027-03-14"),
    ("America/New_York", "2026-11-01"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2019-02-17"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"),
    ("Pacific/Apia", "2011-12-30"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Asia/Kathmandu", "2026-06-01"),
]


def values(field: str, size: int) -> Set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("0", "", str(size - 1)) if span == "*" else span.partition("-")
        found.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


class Walk:
    """Goes through real time and notes when an expression is due by its rules, as the docs have them."""

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        *seconds, minute, hour, day, _, _ = expression.split()
        self._fields = [values(field, 60) for field in (*seconds, minute, hour, day)]
        if not seconds:
            self._fields.insert(0, {0})
        self._recurs = hour.startswith(("*", "0-23"))
        self._zone = zone

    def due(self, start: int, end: int) -> list[int]:
        found: set[int] = set()
        seen: set[datetime] = set()
        expected = self._shown(start)
        for at in range(start, end, STEP):
            shown = self._shown(at)
            if self._matches(shown) and (self._recurs or shown not in seen):
                found.add(at)
            seen.add(shown)
            for late in range(0, round((shown - expected).total_seconds()), STEP):
                if self._matches(expected + timedelta(seconds=late)):
                    found.add(at + late if self._recurs else at)
            expected = shown + timedelta(seconds=STEP)
        return [at * 1000 for at in sorted(found) if at < end]

    def _shown(self, at: int) -> datetime:
        return datetime.fromtimestamp(at, UTC).astimezone(self._zone).replace(tzinfo=None)

    def _matches(self, shown: datetime) -> bool:
        parts = shown.second, shown.minute, shown.hour, shown.day
        return all(part in field for part, field in zip(parts, self._fields, strict=True))


def times(expression: str, zone: str, start: int, end: int) -> list[int]:
    found: list[int] = []
    at = cron.following(expression, zone, start * 1000 - 1)
    while at is not None and at < end * 1000:
        found.append(at)
        at = cron.following(expression, zone, at)
    return found


def window(change: tuple[str, str]) -> tuple[ZoneInfo, int, int]:
    zone = ZoneInfo(change[0])
    midnight = int(datetime.fromisoformat(change[1]).replace(tzinfo=zone).timestamp())
    return zone, midnight - 4 * 3600, midnight + 7 * 3600


expressions = st.builds(
    " ".join,
    st.tuples(
        st.sampled_from(["", "0", "30", "*/20", "10,40", "0-50/20"]),
        st.sampled_from(["*", "*/20", "0", "15", "30", "59", "5-7", "10,40"]),
        st.sampled_from(["*", "*/2", "*/3", "*/5", "0-23", "0", "1", "2", "23", "0-3", "1,2", "2,3", "12"]),
        st.sampled_from(["*", "4", "16", "25", "29", "30"]),
        st.just("* *"),
    ),
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(CHANGES), expressions, st.integers(0, 11 * 3600 - 1), st.integers(0, 11 * 3600 - 1))
@example(("Europe/Berlin", "2026-03-29"), "0 30 2 * * *", 0, 30_000)
@example(("Europe/Berlin", "2026-10-25"), "0 30 2 * * *", 0, 30_000)
@example(("Europe/Berlin", "2026-03-29"), "0 */2 * * *", 0, 30_000)
@example(("Australia/Lord_Howe", "2026-04-05"), "0 */2 * * *", 0, 30_000)
@example(("America/Sao_Paulo", "2019-02-17"), "0 * 16 * *", 0, 30_000)
def test_times_are_those_that_a_walk_finds(change: tuple[str, str], expression: str, one: int, other: int) -> None:
    zone, start, end = window(change)
    due = Walk(expression, zone).due(start, end)
    after, now = ((start + moment) * 1000 + 500 for moment in sorted((one, other)))
    between = [at for at in due if after < at <= now]
    assert cron.latest(expression, change[0], after, now) == (between[-1] if between else None)
    assert times(expression, change[0], after // 1000 + 1, now // 1000 + 1) == between


@pytest.mark.parametrize(
    ("expression", "day", "due"),
    [
        ("0 30 2 * * *", "2026-03-29", ["03:00+0200"]),
        ("0 30 2 * * *", "2026-10-25", ["02:30+0200"]),
        ("*/20 2 * * *", "2026-03-29", ["03:00+0200"]),
        ("*/20 2 * * *", "2026-10-25", ["02:00+0200", "02:20+0200", "02:40+0200"]),
        ("15 0-3 * * *", "2026-03-29", ["00:15+0100", "01:15+0100", "03:00+0200", "03:15+0200"]),
        ("15 */1 1-31 * *", "2026-03-29", ["00:15+0100", "01:15+0100", "03:15+0200", "04:15+0200"]),
        ("0 */2 * * *", "2026-03-29", ["00:00+0100", "03:00+0200", "04:00+0200"]),
        ("0 */2 * * *", "2026-10-25", ["00:00+0200", "02:00+0200", "02:00+0100", "04:00+0100"]),
    ],
)
def test_the_times_of_a_night_in_berlin(expression: str, day: str, due: list[str]) -> None:
    zone = ZoneInfo("Europe/Berlin")
    midnight = datetime.fromisoformat(day).replace(tzinfo=zone)
    start, end = (int(midnight.replace(hour=hour).timestamp()) for hour in (0, 5))
    found = times(expression, "Europe/Berlin", start, end)
    assert [f"{datetime.fromtimestamp(at / 1000, zone):%H:%M%z}" for at in found] == due


def test_what_is_never_due_ends() -> None:
    """Years are looked through in a moment, whichever way the hours are written."""
    for expression in ("0 0 */40 * 1#5", "0 * */40 * 1#5", "* * * */40 * 1#5"):
        assert cron.following(expression, "Europe/Berlin", 0) is None
        assert cron.latest(expression, "Europe/Berlin", 0, 4_000_000_000_000) is None
