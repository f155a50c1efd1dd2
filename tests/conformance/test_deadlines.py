"""Expiry and deadlines: a job that did not start, or did not end, in its time fails visibly, whatever it is doing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import seal_blob
from tests.harness.bench import MINUTE, Bench, new_target

EXPIRES = c.Terms(expires=MINUTE)
WITHIN = c.Terms(within=MINUTE)


def test_what_was_not_started_expires(bench: Bench) -> None:
    job_id = bench.submit(terms=EXPIRES, key="k")
    assert bench.job(job_id).expires == bench.clock.now + MINUTE
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    bench.clock.advance(1)
    assert bench.claim() == [], "nobody starts it any more, found or not"
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert bench.state(job_id) == ("failed", "expired")
    assert bench.happened(job_id) == ["job.submitted", "job.failed"]
    assert [row.id for row in bench.do(c.ListJobs(dead=True))] == [job_id]
    assert bench.claim() == []


def test_what_was_started_does_not_expire(bench: Bench) -> None:
    fence = bench.start(terms=EXPIRES)
    assert bench.job(fence.job_id).expires == 0
    bench.do(c.Release(fence))
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.take().job_id == fence.job_id


def _waits(bench: Bench, fence: c.Fence) -> None:
    bench.do(c.Suspend(fence, seal_blob("sure?", path="question")))


STATES: dict[str, Callable[[Bench, c.Fence], object]] = {
    "running": lambda bench, fence: None,
    "ready": lambda bench, fence: bench.do(c.Release(fence)),
    "retried": lambda bench, fence: bench.do(c.Fail(fence, "boom", "", 5 * MINUTE)),
    "asking": _waits,
    "handed off": lambda bench, fence: bench.do(c.HandOff(fence, new_target("review"))),
}


@pytest.mark.parametrize("state", STATES)
def test_a_deadline_ends_it_in_any_state(bench: Bench, state: str) -> None:
    fence = bench.start(terms=WITHIN, lease=10 * MINUTE, thread="run")
    STATES[state](bench, fence)
    bench.clock.advance(MINUTE)
    assert bench.claim() == bench.claim(agent="review") == []
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert bench.state(fence.job_id) == ("failed", "deadline")
    assert bench.happened(fence.job_id)[-1] == "job.failed"
    assert bench.do(c.Heartbeat(((fence, MINUTE),))) == ["lost"]
    with bench.refused(bp.Fenced, "already failed"):
        bench.do(c.Complete(fence, b"result"))
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.job(bench.submit(thread="run")).state == "submitted", "its thread is free"


def test_why_it_was_late_is_told(bench: Bench) -> None:
    fence = bench.start(terms=WITHIN)
    bench.do(c.Fail(fence, "ValueError: boom", "", 5 * MINUTE))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert bench.job(fence.job_id).error == "it did not end before its deadline; its last error: ValueError: boom"


def test_with_its_lease_or_its_timer_it_ends_once(bench: Bench) -> None:
    leased = bench.start(terms=WITHIN, lease=MINUTE)
    timed = bench.submit("review", terms=WITHIN, delay=MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(2, -1)
    assert bench.state(leased.job_id) == bench.state(timed) == ("failed", "deadline")
    assert bench.claim() == bench.claim(agent="review") == []


def test_the_earlier_of_the_two(bench: Bench) -> None:
    expiring = bench.submit(terms=c.Terms(expires=MINUTE, within=2 * MINUTE))
    both = bench.submit(terms=c.Terms(expires=2 * MINUTE, deadline=bench.clock.now + MINUTE))
    started = bench.start("review", terms=c.Terms(expires=MINUTE, within=2 * MINUTE), lease=9 * MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(2, MINUTE)
    assert bench.state(expiring) == ("failed", "expired")
    assert bench.state(both) == ("failed", "deadline")
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert bench.state(started.job_id) == ("failed", "deadline")


def test_so_many_at_a_time(bench: Bench) -> None:
    jobs = [bench.submit(terms=EXPIRES) for _ in range(3)]
    bench.clock.advance(MINUTE)
    bench.do(c.Reap(limit=2))
    bench.do(c.Reap(limit=2))
    assert {bench.state(job_id) for job_id in jobs} == {("failed", "expired")}


def test_ended_in_time(bench: Bench) -> None:
    fence = bench.start(terms=WITHIN)
    bench.do(c.Complete(fence, b"result"))
    canceled = bench.submit(terms=EXPIRES)
    bench.do(c.Cancel(canceled))
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.state(fence.job_id) == ("completed", "")


def test_redriven_it_has_all_the_time(bench: Bench) -> None:
    job_id = bench.submit(terms=c.Terms(expires=MINUTE, within=MINUTE))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    bench.do(c.Redrive(job_id))
    assert (bench.job(job_id).expires, bench.job(job_id).deadline) == (0, 0)
    bench.clock.advance(10 * MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.take().job_id == job_id


def test_what_is_overdue_is_in_nobodys_way(bench: Bench) -> None:
    late = [bench.submit(terms=EXPIRES) for _ in range(3)]
    bench.clock.advance(MINUTE)
    after = bench.submit()
    leases = tuple(mint("l") for _ in range(2))
    [delivery] = bench.do(c.Claim("w", ((new_target().queue, MINUTE),), leases))
    assert delivery.job.id == after
    assert {bench.state(job_id) for job_id in late} == {("submitted", "ready")}
