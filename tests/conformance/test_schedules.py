"""Schedules: each time that is due makes one job, whoever looks, whatever happens in between."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts import event as kinds
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import items, schedules
from batonpass.coordinator.following import follow
from tests.harness.bench import MINUTE, Bench

HOUR, NAMES = 60 * MINUTE, ["nightly", "nightly\0", "", "a:b\n*{x}", "ü" * 300]


class Order(bp.Contract, name="schedules.order"):
    size: int


class Other(bp.Contract, name="schedules.order", version=2):
    colour: str


def desk(accepts: type[Any]) -> bp.App:
    app = bp.App("desk")
    app.agent("write", accepts=accepts, returns=accepts)(lambda order: order)
    return app


APP = desk(Order)


def look(bench: Bench, app: bp.App = APP, left: dict[str, int] | None = None) -> schedules.Look:
    return follow(schedules.look(Book(app), {} if left is None else left), bench.do)


def schedule(bench: Bench, name: str = "hourly", app: bp.App = APP, **more: Any) -> None:
    more = {"cron": "0 * * * *", **more}
    bench.run(bench.face(app).schedule(name, "write", more.pop("payload", Order(size=1)), **more))


def known(bench: Bench) -> list[bp.Schedule]:
    found: list[bp.Schedule] = bench.run(bench.face(APP).schedules())
    return found


def to_the_hour(bench: Bench, hours: int = 1) -> int:
    """Let it be some full hour, a moment later."""
    now = bench.clock.now
    bench.clock.advance(hours * HOUR - now % HOUR + 5)
    return bench.clock.now - 5


def test_each_time_makes_one_job(bench: Bench) -> None:
    schedule(bench)
    assert look(bench).jobs == []
    job = ""
    with bench.beside() as other:
        for size in range(1, 4):
            at = to_the_hour(bench)
            [(name, job)] = look(bench).jobs
            assert name == "hourly"
            assert look(other).jobs == look(bench).jobs == []
            [one] = known(bench)
            assert (one.last_job, one.last_at and one.last_at.timestamp() * 1000) == (job, at)
            assert one.next_at
            assert one.next_at.timestamp() * 1000 == at + HOUR
            assert len(bench.do(c.ListJobs())) == size
    assert [row.fields.get("schedule") for row in bench.do(c.Events(subject=job)) if row.fields] == ["hourly"]
    [submitted] = bench.run(bench.face(APP).events(job=job))
    assert submitted.data["at"] == at


def test_what_the_store_could_not_confirm_is_tried_again(bench: Bench) -> None:
    """The reply is lost, or its replicas are: the job may be there."""
    schedule(bench)
    to_the_hour(bench)

    def unsure(command: c.Command[Any]) -> Any:
        answer = bench.do(command)
        if isinstance(command, c.Submit):
            raise bp.Unconfirmed("stored it, but no replica confirmed")
        return answer

    found = follow(schedules.look(Book(APP), {}), unsure)
    assert (found.jobs, found.errors) == ([], [])
    assert found.late == [("hourly", "stored it, but no replica confirmed")]
    [job] = bench.do(c.ListJobs())
    assert look(bench).jobs == [("hourly", job.id)]


@pytest.mark.parametrize("problem", [OSError("too many open files"), RuntimeError("the loop is closed")], ids=repr)
def test_what_a_store_fails_of_is_not_the_payloads_fault(bench: Bench, problem: Exception) -> None:
    """Whatever the failure is, the schedule's time is not taken for done."""
    schedule(bench)
    to_the_hour(bench)

    def failing(command: c.Command[Any]) -> Any:
        if isinstance(command, c.Submit):
            raise problem
        return bench.do(command)

    found = follow(schedules.look(Book(APP), {}), failing)
    assert (found.jobs, found.errors) == ([], [])
    assert str(problem) in found.late[0][1]
    assert known(bench)[0].error is None
    assert len(look(bench).jobs) == 1


@pytest.mark.parametrize("app", [bp.App("another"), desk(Other)], ids=["another app", "the agent's"])
def test_a_record_of_the_agent_that_can_not_be_read_leaves_it_to_others(bench: Bench, app: bp.App) -> None:
    """A newer release may have written it. If it stays like that, the time is given up, and the schedule says so."""
    schedule(bench)
    bench.do(c.Declare({"write": b"\xff what is this"}))
    to_the_hour(bench)
    left = dict[str, int]()
    assert look(bench, app, left) == schedules.Look(wait=HOUR - 5)
    bench.clock.advance(MINUTE + 1)
    assert len(look(bench, app, left).errors) == 1
    assert known(bench)[0].error
    assert look(bench, app, left).errors == []


def test_a_worker_that_dies_before_it_noted_the_time_costs_no_second_job(bench: Bench) -> None:
    """Nor does one that looked a moment before."""
    schedule(bench)
    to_the_hour(bench)

    def dying(command: Any) -> Any:
        if isinstance(command, c.WriteItems):
            raise bp.Unreachable("killed")
        return bench.do(command)

    follow(schedules.look(Book(APP), {}), dying)
    [first] = bench.do(c.ListJobs())
    bench.clock.advance(1)
    assert look(bench).jobs == [("hourly", first.id)]
    assert len(bench.do(c.ListJobs())) == 1


@pytest.mark.parametrize("catch_up", ["latest", "none"])
def test_times_when_nobody_was_up(bench: Bench, catch_up: bp.CatchUp) -> None:
    schedule(bench, catch_up=catch_up)
    to_the_hour(bench, 30)
    bench.clock.advance(20 * MINUTE)
    assert len(look(bench).jobs) == (catch_up == "latest")
    assert look(bench).jobs == []
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1


@pytest.mark.parametrize("made_then", [True, False])
def test_a_clock_that_was_wrong_for_a_while_stops_no_schedule(bench: Bench, made_then: bool) -> None:
    """Times that it was ahead of come as usual, and what was submitted meanwhile does not come again."""
    if not made_then:
        schedule(bench)
    to_the_hour(bench, 30)
    if made_then:
        schedule(bench)
        to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    bench.clock.advance(-30 * HOUR)
    assert look(bench).jobs == []
    at = to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    assert look(bench).jobs == []
    [one] = known(bench)
    assert one.next_at
    assert one.next_at.timestamp() * 1000 == at + HOUR
    bench.clock.advance(-5)  # a moment before the time that was taken
    assert look(bench).jobs == []
    bench.clock.advance(5)
    look(bench)
    assert len(bench.do(c.ListJobs())) == 2


def test_one_that_was_made_while_the_clock_was_ahead_has_missed_nothing(bench: Bench) -> None:
    to_the_hour(bench, 30)
    schedule(bench)
    bench.clock.advance(-30 * HOUR)
    assert look(bench).jobs == []
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1


def test_a_schedule_is_replaced_and_removed(bench: Bench) -> None:
    schedule(bench, payload={"size": 1})
    to_the_hour(bench)
    schedule(bench, cron="30 * * * *", payload={"size": 2}, timezone="Europe/Berlin", thread="run", on_busy="queue")
    assert look(bench).jobs == []
    bench.clock.advance(30 * MINUTE)
    [(_, job)] = look(bench).jobs
    assert bench.job(job).thread == "run"
    [one] = known(bench)
    assert (one.payload, one.timezone, one.options["on_busy"]) == ({"size": 2}, "Europe/Berlin", "queue")
    bench.run(bench.face(APP).unschedule("hourly"))
    assert known(bench) == []
    to_the_hour(bench, 3)
    assert look(bench).jobs == []
    with bench.refused(bp.NotFound, "hourly"):
        bench.run(bench.face(APP).unschedule("hourly"))


@pytest.mark.parametrize("payload", [None, {"size": 2}])
def test_one_that_is_removed_or_changed_while_a_worker_looks(bench: Bench, payload: dict[str, int] | None) -> None:
    """A look at many schedules takes seconds. What was removed in them is not submitted any more."""
    schedule(bench)
    to_the_hour(bench)

    def slow(command: Any) -> Any:
        answer = bench.do(command)
        if isinstance(command, c.ListItems):
            if payload:
                schedule(bench, payload=payload)
            else:
                bench.run(bench.face(APP).unschedule("hourly"))
        return answer

    assert follow(schedules.look(Book(APP), {}), slow).jobs == []
    assert bench.do(c.ListJobs()) == []
    assert [each.payload for each in known(bench)] == [payload] * bool(payload)


def test_a_time_that_another_worker_took_meanwhile_is_not_taken_again(bench: Bench) -> None:
    schedule(bench)
    to_the_hour(bench)
    jobs = list[tuple[str, str]]()

    def slow(command: Any) -> Any:
        answer = bench.do(command)
        if isinstance(command, c.ListItems):
            jobs.extend(look(bench).jobs)
        return answer

    found = follow(schedules.look(Book(APP), {}), slow)
    assert (found.jobs, found.wait, len(jobs)) == ([], 0, 1)


def test_who_says_a_schedule_again_ends_no_time_that_was_missed(bench: Bench) -> None:
    """As a program does that declares its schedules whenever it starts."""
    schedule(bench)
    to_the_hour(bench)
    [before] = known(bench)
    schedule(bench)
    assert known(bench) == [before]
    assert len(look(bench).jobs) == 1
    to_the_hour(bench)
    schedule(bench, payload=Order(size=2))
    assert look(bench).jobs == []
    assert known(bench)[0].payload == {"size": 2}


def test_a_failed_submit_is_recorded_and_the_schedule_continues(bench: Bench) -> None:
    schedule(bench)
    to_the_hour(bench)
    [(name, problem)] = look(bench, desk(Other)).errors
    assert (name, "colour" in problem) == ("hourly", True)
    assert look(bench).jobs == []  # that time is over
    [one] = known(bench)
    assert (one.error, one.last_job) == (problem, None)
    to_the_hour(bench)
    assert len(look(bench).jobs) == 1
    assert known(bench)[0].error is None


def newer() -> bp.App:
    """The desk when its contract has a second version, as recorded by its workers."""
    app = desk(Other)
    app.upcast(Other, from_version=1)(lambda values: {"colour": str(values["size"])})
    return app


@pytest.mark.parametrize("other", [bp.App("another"), desk(Order)], ids=["another app", "the release before"])
def test_a_worker_without_the_contract_leaves_it_to_one_that_has_it(bench: Bench, other: bp.App) -> None:
    """It used to note that the payload does not fit, and no job was made. Which worker looked first decided that."""
    app = newer()
    said = {"colour": "red"} if "write" in other else {"size": 1}  # by the newer release, by the one before
    schedule(bench, payload=said, app=app if "write" in other else APP)
    bench.run(bench.face(app).declare(app))
    to_the_hour(bench, 30)
    left = dict[str, int]()
    for _ in range(3):
        assert look(bench, other, left) == schedules.Look(wait=HOUR - 5)
    assert known(bench)[0].error is None
    assert len(look(bench, app).jobs) == 1
    assert look(bench, other, left).errors == []


def test_what_no_other_worker_takes_either_is_said_in_the_end(bench: Bench) -> None:
    schedule(bench)
    app = newer()
    bench.run(bench.face(app).declare(app))
    for _ in range(2):
        to_the_hour(bench)
        left = dict[str, int]()
        assert look(bench, bp.App("another"), left).errors == []
        bench.clock.advance(MINUTE + 1)
        [(_, problem)] = look(bench, bp.App("another"), left).errors
        assert "colour" in problem
        assert known(bench)[0].error == problem
        assert left == {}


def test_that_no_job_could_be_submitted_is_an_event_once(bench: Bench) -> None:
    """Even if several workers find out at the same time. It has the reason, and comes each time that this happens."""

    def another_comes_first(command: Any) -> Any:
        if isinstance(command, c.WriteItems) and others:
            look(bench, others.pop())
        return bench.do(command)

    name = "any {x}:\n" + "ü" * 300
    schedule(bench, name)
    for times in (1, 2):
        others, due = [desk(Other)], to_the_hour(bench)
        found = follow(schedules.look(Book(desk(Other)), {}), another_comes_first)
        assert not others
        told = [each.fields for each in bench.do(c.Events()) if each.fields["type"] == kinds.NOT_SCHEDULED]
        event = told[-1]
        assert (event["subject"], event["agent"], event["at"]) == (name, "write", str(due))
        assert [(name, event["error"])] == found.errors
        assert bench.run(bench.face(APP).events(types=["schedule.failed"]))[-1].data["at"] == due
        assert len(told) == times


def test_names_are_any_texts_and_no_ones_items(bench: Bench) -> None:
    for name in NAMES:
        if name:
            schedule(bench, name)
    assert sorted(one.name for one in known(bench)) == sorted(filter(None, NAMES))
    assert follow(items.page((), "", 100, indexed=False), bench.do).rows == []
    assert follow(items.spaces(()), bench.do) == []
    to_the_hour(bench)
    assert len({job for _, job in look(bench).jobs}) == len(NAMES) - 1
    with bench.refused(bp.BadSetup, "needs a name"):
        schedule(bench, "")
    with bench.refused(bp.BadSetup, "catch_up"):
        schedule(bench, catch_up="all")
