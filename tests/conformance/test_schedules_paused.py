"""Schedules that rest, go on, and are run besides their times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import schedules
from batonpass.coordinator.following import follow
from batonpass.coordinator.snapshots import from_ms
from tests.harness.bench import Bench

from .test_schedules import APP, HOUR, Order, known, look, newer, schedule, to_the_hour


def test_a_paused_schedule_makes_no_jobs_until_it_goes_on(bench: Bench) -> None:
    face = bench.face(APP)
    schedule(bench)
    bench.run(face.pause_schedule("hourly"))
    bench.run(face.pause_schedule("hourly"))
    [paused] = known(bench)
    assert (paused.paused, paused.next_at) == (True, None)
    to_the_hour(bench, 3)
    assert look(bench).jobs == []
    bench.run(face.resume_schedule("hourly"))
    assert look(bench).jobs == []  # what passed meanwhile is not made up for
    [going] = known(bench)
    assert going == replace(paused, paused=False, next_at=going.next_at)  # a pause changes nothing of it
    at = to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    assert known(bench)[0].last_at == from_ms(at)


def test_a_program_that_makes_its_schedules_again_does_not_wake_them(bench: Bench) -> None:
    schedule(bench)
    bench.run(bench.face(APP).pause_schedule("hourly"))
    for size in (1, 2):  # unchanged, and changed
        schedule(bench, payload=Order(size=size))
        [one] = known(bench)
        assert (one.paused, one.payload) == (True, {"size": size})
    bench.run(bench.face(APP).unschedule("hourly"))
    schedule(bench)
    assert not known(bench)[0].paused


def test_one_of_the_same_name_does_not_rest(bench: Bench) -> None:
    """The first was removed while somebody paused it."""
    schedule(bench)

    def slow(command: Any) -> Any:
        if isinstance(command, c.WriteItems):
            bench.run(bench.face(APP).unschedule("hourly"))
        return bench.do(command)

    follow(schedules.pause("hourly", paused=True), slow)
    assert known(bench) == []
    schedule(bench)
    assert not known(bench)[0].paused
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1


def test_a_resumed_one_that_was_not_paused_keeps_its_missed_time(bench: Bench) -> None:
    schedule(bench)
    to_the_hour(bench)
    bench.clock.advance(HOUR)
    bench.run(bench.face(APP).resume_schedule("hourly"))
    assert len(look(bench).jobs) == 1


def test_a_time_before_the_pause_is_not_made_up_for_either(bench: Bench) -> None:
    schedule(bench)
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    to_the_hour(bench)
    for call in (bench.face(APP).pause_schedule, bench.face(APP).resume_schedule):
        bench.run(call("hourly"))
        assert look(bench).jobs == []
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    bench.run(bench.face(APP).unschedule("hourly"))
    assert bench.run(bench.face(APP).schedules()) == []


@pytest.mark.parametrize("was_due", [True, False])
def test_one_that_was_resumed_while_the_clock_was_ahead_goes_on(bench: Bench, was_due: bool) -> None:
    """It used to make no jobs until the clock had caught up."""
    schedule(bench)
    if was_due:
        to_the_hour(bench)
        look(bench)
    for call in (bench.face(APP).pause_schedule, bench.face(APP).resume_schedule):
        bench.clock.advance(30 * HOUR)
        bench.run(call("hourly"))
    bench.clock.advance(-60 * HOUR)
    assert look(bench).jobs == []
    for _ in range(3):
        due = known(bench)[0].next_at
        assert due == from_ms(to_the_hour(bench))
        assert len(look(bench).jobs) == 1
        assert look(bench).jobs == []


def test_one_that_is_resumed_while_a_worker_looks(bench: Bench) -> None:
    """A look at many schedules takes seconds."""
    schedule(bench)
    bench.run(bench.face(APP).pause_schedule("hourly"))
    to_the_hour(bench)

    def slow(command: Any) -> Any:
        answer = bench.do(command)
        if isinstance(command, c.ListItems):
            bench.clock.advance(5000)
            bench.run(bench.face(APP).resume_schedule("hourly"))
        return answer

    assert follow(schedules.look(Book(APP), {}), slow).jobs == []
    assert look(bench).jobs == []


@pytest.mark.parametrize("looked", ["while it rests", "when it goes on"])
def test_who_left_a_time_to_others_before_a_pause_leaves_them_the_next_one_too(bench: Bench, looked: str) -> None:
    """An old worker in a rolling deploy. It used to take the next time at once, and no job was made."""
    app, left = newer(), dict[str, int]()
    schedule(bench, payload={"colour": "red"}, app=app)
    bench.run(bench.face(app).declare(app))
    to_the_hour(bench)
    assert look(bench, APP, left).jobs == []
    bench.run(bench.face(app).pause_schedule("hourly"))
    if looked == "while it rests":
        look(bench, APP, left)
    bench.run(bench.face(app).resume_schedule("hourly"))
    if looked == "when it goes on":
        look(bench, APP, left)
    to_the_hour(bench)
    assert look(bench, APP, left).errors == []
    assert len(look(bench, app).jobs) == 1


def test_it_waits_no_busier_than_others(bench: Bench) -> None:
    """Also when its time has passed."""
    schedule(bench)
    bench.run(bench.face(APP).pause_schedule("hourly"))
    to_the_hour(bench)
    waits = look(bench).wait
    assert waits
    assert HOUR - 1000 < waits <= HOUR


def test_a_job_besides(bench: Bench) -> None:
    face = bench.face(APP)
    schedule(bench, thread="t", priority="high", guard=bp.Guard(hops=7))
    bench.run(face.pause_schedule("hourly"))
    job = bench.job(bench.run(face.run_schedule("hourly")).id)
    assert (job.thread, job.priority, job.state) == ("t", 1, "submitted")
    with bench.refused(bp.ThreadBusy):
        bench.run(face.run_schedule("hourly"))
    assert known(bench)[0].last_job is None
    [event] = [each for each in bench.run(face.events(job=job.id)) if each.type.endswith("submitted")]
    assert event.data["schedule"] == "hourly"


def test_unknown_ones(bench: Bench) -> None:
    face = bench.face(APP)
    for refused in (face.pause_schedule, face.resume_schedule, face.run_schedule):
        with bench.refused(bp.NotFound, "there is no schedule 'none'"):
            bench.run(refused("none"))
