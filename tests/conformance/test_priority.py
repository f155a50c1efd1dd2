"""Priority: a band of its own in the queue, and the job's for good. Times: the store's clock decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_job, new_target
from tests.harness.waiting import wait_until

HIGH, LOW = c.Terms(priority=1), c.Terms(priority=-1)


class Notes(bp.Contract, name="desk.notes", version=1):
    text: str = ""


app = bp.App("desk")


@app.agent("write", accepts=Notes, returns=Notes)
def write(notes: Notes) -> Notes:
    return notes


def test_bands_are_queues_of_their_own(bench: Bench) -> None:
    normal, low, high = bench.submit(), bench.submit(terms=LOW), bench.submit(terms=HIGH)
    assert [bench.job(each).priority for each in (high, normal, low)] == [1, 0, -1]
    queues = tuple((new_target(priority=band).queue, MINUTE) for band in (1, 0, -1))
    leases = tuple(mint("l") for _ in range(3))
    assert [each.job.id for each in bench.do(c.Claim("w", queues, leases))] == [high, normal, low]


@pytest.mark.parametrize("terms", [HIGH, c.Terms(expires=MINUTE), c.Terms(within=MINUTE), c.Terms(deadline=MINUTE)])
def test_a_submit_answers_with_its_terms(bench: Bench, terms: c.Terms) -> None:
    submit = new_job(terms=terms)
    assert bench.do(submit) == bench.job(submit.job_id)


def test_it_stays_through_a_retry_and_a_redrive(bench: Bench) -> None:
    job_id = bench.submit(terms=HIGH)
    claim = c.Claim("w", ((new_target(priority=1).queue, MINUTE),), (mint("l"),))
    [delivery] = bench.do(claim)
    fence = c.Fence(job_id, delivery.job.token, delivery.job.lease)
    bench.do(c.Fail(fence, "boom", "", retry_in=0))
    bench.clock.advance(1000)
    bench.do(c.Reap())
    [delivery] = bench.do(claim)
    assert delivery.job.priority == 1
    bench.do(c.Fail(c.Fence(job_id, delivery.job.token, delivery.job.lease), "boom", "attempts"))
    face = bench.face(app)
    bench.run(face.redrive(job_id, payload={"text": "again"}))
    assert [each.job.id for each in bench.do(claim)] == [job_id]
    assert bench.run(face.job(job_id).info()).priority == "high"


def test_a_time_by_the_stores_clock(bench: Bench) -> None:
    now = datetime.fromtimestamp(bench.clock.now / 1000, timezone(timedelta(hours=5)))
    face = bench.face(app)
    later = bench.run(face.submit("write", {}, at=now + timedelta(minutes=1), priority="low"))
    assert bench.run(later.info()).due_at == (now + timedelta(minutes=1)).astimezone(UTC)
    assert bench.run(later.info()).reason == "scheduled"
    for past in (now - timedelta(days=1), datetime(1, 1, 2, tzinfo=UTC)):
        job = bench.run(face.submit("write", {}, at=past))
        assert bench.run(job.info()).reason == "ready"
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.run(later.info()).reason == "ready"


@pytest.mark.parametrize("hours", [0, -12])
def test_the_last_time_that_there_is(bench: Bench, hours: int) -> None:
    """Who means never may say so, and the job can be listed."""
    never = datetime.max.replace(tzinfo=timezone(timedelta(hours=hours)))
    job = bench.run(bench.face(app).submit("write", {}, at=never, deadline=never))
    [info] = bench.run(bench.face().jobs())
    assert (info.id, info.reason, info.due_at.year, info.deadline.year) == (job.id, "scheduled", 9999, 9999)


def test_a_deadline_that_is_over_is_refused(bench: Bench) -> None:
    """Such a job could only fail. But one that was submitted in time is found again by its key afterwards."""
    face = bench.face(app)
    for key in (None, "k"):
        with bench.refused(bp.BadSetup, r"deadline=2020-05-01 09:00:00\+00:00 is over: the job would fail at once"):
            bench.run(face.submit("write", {}, key=key, deadline=datetime(2020, 5, 1, 9, tzinfo=UTC)))
    by = datetime.now(UTC) + timedelta(seconds=0.5)
    job = bench.run(face.submit("write", {}, key="k", deadline=by))
    wait_until(lambda: datetime.now(UTC) > by)
    assert bench.run(face.submit("write", {}, key="k", deadline=by)).id == job.id


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"at": datetime.fromisoformat("2031-05-01")}, "no time zone.*astimezone"),
        ({"at": datetime(2031, 5, 1, tzinfo=UTC), "delay": 5}, "not both"),
        ({"priority": "urgent"}, "'urgent', but it must be one of high, normal, low"),
        ({"delay": timedelta(days=-1)}, "it must be from 0"),
        ({"key": 4821}, "the key 4821 is not text"),
        ({"delay": "3"}, "'3' is not a duration: give seconds, or a timedelta"),
        ({"deadline": "noon"}, "'noon' is not a duration: give seconds, or a timedelta"),
        ({"at": "noon"}, "at='noon', but it must be a datetime"),
        ({"guard": {"hops": 3}}, "guard=.*, but it must be a batonpass.Guard"),
    ],
)
def test_what_can_not_be_meant_is_refused(bench: Bench, options: dict[str, object], advice: str) -> None:
    with bench.refused(bp.BadSetup, advice):
        bench.run(bench.face(app).submit("write", {}, **options))
    with pytest.raises(TypeError, match="'dealy'"):
        bench.run(bench.face(app).submit("write", {}, dealy=5))
    with bench.refused(bp.BadSetup, "state='done', but it must be one of submitted, working"):
        bench.run(bench.face(app).jobs(state="done"))
