"""Times of cron expressions, where the clocks are put forward and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

import batonpass as bp
from batonpass.coordinator import cron

BERLIN = "Europe/Berlin"
FORWARD, BACK = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def times(expression: str, after: str, number: int) -> list[int]:
    found: list[int] = []
    at: int | None = ms(after)
    for _ in range(number):
        at = cron.following(expression, BERLIN, at or 0)
        found.append(at or 0)
    return found


def test_of_six_fields_the_first_is_the_seconds() -> None:
    """As is documented: other libraries take the last."""
    assert times("30 0 9 * * 1", "2026-01-01T00:00+01:00", 1) == [ms("2026-01-05T09:00:30+01:00")]


def test_an_hour_that_is_missing() -> None:
    """02:30 does not exist on that day: it comes when the clocks were put forward, and on the next day as usual."""
    assert times("30 2 * * *", "2026-03-28T12:00+01:00", 2) == [
        ms("2026-03-29T03:00+02:00"),
        ms("2026-03-30T02:30+02:00"),
    ]
    assert times("*/30 * * * *", "2026-03-29T01:10+01:00", 3) == [
        ms("2026-03-29T01:30+01:00"),
        ms("2026-03-29T03:00+02:00"),
        ms("2026-03-29T03:30+02:00"),
    ]


def test_an_hour_that_comes_twice() -> None:
    """02:30 comes once; intervals go by the time that passes."""
    assert times("30 2 * * *", "2026-10-24T12:00+02:00", 2) == [
        ms("2026-10-25T02:30+02:00"),
        ms("2026-10-26T02:30+01:00"),
    ]
    assert times("30 2 * * *", "2026-10-25T02:10+01:00", 1) == [ms("2026-10-26T02:30+01:00")]
    half_hours = [ms("2026-10-25T02:00+02:00") + n * 1_800_000 for n in range(5)]
    assert times("*/30 * * * *", "2026-10-25T01:40+02:00", 5) == half_hours


def test_the_latest_time_is_the_last_of_those_that_follow() -> None:
    random = Random(7)
    expressions = ["*/20 * * * *", "30 2 * * *", "0 9 * * 1-5", "15 */3 * * *", "0 2,3 * * *", "5-10 2 * * *"]
    for _ in range(300):
        expression, day = random.choice(expressions), random.choice([FORWARD, BACK])
        after = day + timedelta(minutes=random.randrange(-3000, 3000), seconds=random.choice([0, 1, 59]))
        start, now = (int(at.timestamp() * 1000) for at in (after, after + timedelta(minutes=random.randrange(4000))))
        every: list[int] = []
        at = cron.following(expression, BERLIN, start)
        while at is not None and at <= now:
            every.append(at)
            at = cron.following(expression, BERLIN, at)
        assert cron.latest(expression, BERLIN, start, now) == (every[-1] if every else None), (expression, after, now)


@pytest.mark.parametrize(
    ("expression", "zone", "says"),
    [
        ("0 9 * *", "UTC", "not a cron expression"),
        ("0 9 30 2 *", "UTC", "day-of-month"),
        ("* * * * *", "Mars/Base", "zone"),
        ("*/90 * * * *", "UTC", r"'\*/90', the step is larger than the minute field, which has 60 values"),
        ("0 0 1,3-9/61 * * *", "UTC", "'3-9/61', the step is larger than the hour field"),
        ("*/61 * * * *", "UTC", r"every two hours are '0 \*/2 \* \* \*'$"),
        ("0 0 * * 0/8", "UTC", "larger than the day-of-week field, which has 7 values: .* at the first one$"),
        (f"*/{'9' * 500} * * * *", "UTC", "larger than the minute field"),
        ("0 22-4 * * *", "UTC", "'22-4' in the hour field goes backwards: .* '22-23,0-4'"),
        ("0 0 * * 1,fri-mon/2", "UTC", "'FRI-MON' in the day-of-week field goes backwards: .* 'FRI-6,0-MON'"),
        ("0 0 31-1 * *", "UTC", "'31-31,1-1'"),
        ("@daily", "UTC", "'@daily' is not a cron expression of five fields: write '0 0 \\* \\* \\*'"),
        ("@Hourly ", "UTC", "write '0 \\* \\* \\* \\*'"),
        ("@reboot", "UTC", "'@reboot' is not a cron expression .* write e.g. '0 9"),
        ("", "UTC", "not a cron expression"),
    ],
)
def test_what_is_no_time_is_refused(expression: str, zone: str, says: str) -> None:
    with pytest.raises(bp.BadSetup, match=says):
        cron.check(expression, zone)


@pytest.mark.parametrize("more", [149, 200_000])
def test_a_long_one_is_refused(more: int) -> None:
    """Each worker would read it every few seconds."""
    expression = f"{'*/1,' * more}* * * * *"
    with pytest.raises(bp.BadSetup) as refused:
        cron.check(expression, "UTC")
    assert str(refused.value) == (
        f"the cron expression '*/1,*/1,*/1,*/1,*/1,'... has {len(expression):,} characters, and may have 600: write "
        "ranges and steps, or make several schedules"
    )


FIELDS = ((0, 60), (0, 60), (0, 24), (1, 32), (1, 13), (0, 7))


@pytest.mark.parametrize(
    "expression",
    [
        *("*/60 * * * *", "0 */24 * * *", "0 0 */31 * *", "0 0 1 */12 *", "0 0 * * */7", "*/60 * * * * *"),
        *("0 22-23,0-4 * * *", "0 0 * * FRI-6,0-MON", "0 0 31-31,1-1 * *", "0 0 * * 5-7", "0 0 LW jan-dec/3 *"),
        *("0 0 L * *", "0 0 * * MON#2", "0 0 * * 5L"),
        " ".join(",".join(map(str, range(first, last))) for first, last in FIELDS),
    ],
)
def test_the_largest_steps_and_other_forms_are_taken(expression: str) -> None:
    """Also those that an error says to write, and each value of each field."""
    cron.check(expression, "UTC")
