"""Schedules: what their jobs may be submitted with, and how that is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.commands import ListItems, WriteItems
from batonpass.coordinator.items import SCHEDULES, ItemChange, ItemRow
from tests.conformance.test_schedules import APP, known, look, schedule, to_the_hour
from tests.harness.bench import Bench

GUARD = bp.Guard(repeats=100, cost=2.5)
# What a schedule without options was before it could have a deadline and a guard.
BEFORE = {
    "agent": "write",
    "payload": {"size": 1},
    "cron": "0 * * * *",
    "timezone": "UTC",
    "catch_up": "latest",
    "options": {"thread": None, "on_busy": "reject", "priority": "normal"},
}


def stored(bench: Bench) -> ItemRow:
    [row] = [row for row in bench.do(ListItems((SCHEDULES,))).rows if row.name.key == "hourly"]
    return row


def test_its_jobs_have_its_deadline_and_its_guard(bench: Bench) -> None:
    schedule(bench, deadline=90, guard=GUARD)
    [one] = known(bench)
    assert (one.options["deadline"], one.options["guard"]) == (90, GUARD)
    assert one.as_dict()["options"]["guard"] == {"hops": 50, "repeats": 100, "tokens": None, "cost": 2.5}
    to_the_hour(bench)
    [(_, job)] = look(bench).jobs
    info = bench.run(bench.run(bench.face(APP).job(job)).info())
    assert info.guard == GUARD
    assert info.deadline
    assert (info.deadline - info.created_at).total_seconds() == 90


def test_said_again_it_stays_and_with_another_guard_it_is_another(bench: Bench) -> None:
    schedule(bench, guard=GUARD)
    [before] = known(bench)
    bench.clock.advance(5)
    schedule(bench, guard=GUARD)
    assert known(bench) == [before]
    schedule(bench)
    assert "guard" not in known(bench)[0].options


def test_one_of_the_release_before_is_read_and_stays_as_it_is(bench: Bench) -> None:
    """A program that declares its schedules at every start must not end a time that was missed."""
    schedule(bench)
    row = stored(bench)
    assert row.value == seal_blob(BEFORE, path="a schedule")
    schedule(bench, guard=bp.Guard(), deadline=None)
    assert stored(bench) == row
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1


def test_one_that_a_newer_release_stored_is_left_to_that(bench: Bench) -> None:
    """As the release before leaves one with a guard to this one: it is an error that takes no time."""
    schedule(bench, guard=GUARD)
    row = stored(bench)
    about: dict[str, Any] = open_blob(row.value, of="a schedule")
    assert (about["guard"], about["options"]) == ({"repeats": 100, "cost": 2.5}, BEFORE["options"])
    newer = seal_blob({**about, "guard": {**about["guard"], "minutes": 5}}, path="a schedule")
    bench.do(WriteItems((ItemChange(row.name, newer),)))
    to_the_hour(bench)
    found = look(bench)
    assert (found.jobs, [name for name, _ in found.errors]) == ([], ["hourly"])
    assert [row.name for row in bench.do(ListItems((SCHEDULES,))).rows] == [row.name], "no time is noted as taken"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"guard": 3}, "guard=3, but it must be a batonpass.Guard"),
        ({"deadline": 0}, "deadline=0 seconds, but it must be"),
        ({"deadline": datetime(2031, 5, 1, tzinfo=UTC)}, "is one time for all jobs: give a duration"),
    ],
    ids=str,
)
def test_what_no_job_could_have_is_refused(bench: Bench, options: dict[str, Any], told: str) -> None:
    with bench.refused(bp.BadSetup, told):
        schedule(bench, **options)


def test_a_thread_without_a_name_is_refused_when_it_is_given(bench: Bench) -> None:
    with bench.refused(bp.BadSetup, "names no thread"):
        schedule(bench, thread="")
