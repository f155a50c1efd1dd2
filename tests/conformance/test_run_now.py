"""Running a job now: it no longer waits for its time. What waits for something else is left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from batonpass.contracts.errors import NotFound, WrongState
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench
from tests.harness.children import Family


def scheduled(bench: Bench) -> str:
    return bench.submit(delay=MINUTE)


def retried(bench: Bench) -> str:
    fence = bench.start()
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    return fence.job_id


def behind_another(bench: Bench) -> str:
    """One whose turn on its thread has come before its time."""
    first = bench.start(thread="run")
    job = bench.submit(thread="run", on_busy="queue", delay=MINUTE)
    bench.do(c.Complete(first, b"result"))
    return job


@pytest.mark.parametrize("reach", [scheduled, retried, behind_another])
def test_it_is_ready_at_once_and_only_once(bench: Bench, reach: Callable[[Bench], str]) -> None:
    job = reach(bench)
    attempt = bench.job(job).attempt
    assert bench.claim() == []
    bench.clock.advance(5)
    assert bench.do(c.RunNow(job)) is True
    row = bench.job(job)
    assert (row.state, row.reason, row.due, row.updated) == ("submitted", "ready", 0, bench.clock.now)
    assert bench.happened(job)[-1] == "job.submitted"
    with bench.nothing_changes():
        assert bench.do(c.RunNow(job)) is False
    fence = bench.take()
    assert (fence.job_id, bench.job(job).attempt) == (job, attempt)
    with bench.nothing_changes():
        assert bench.do(c.RunNow(job)) is False
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap(leases=False)) == c.Reaped(0, 0)  # its timer has gone; its lease is due
    bench.do(c.Complete(fence, b"result"))
    assert bench.state(job) == ("completed", "")


@pytest.mark.one_partition
def test_it_comes_behind_those_that_are_ready(bench: Bench) -> None:
    late = scheduled(bench)
    first = bench.submit()
    bench.do(c.RunNow(late))
    assert [each.job.id for each in bench.claim(2)] == [first, late]


def asleep(bench: Bench) -> str:
    fence = bench.start()
    bench.do(c.Sleep(fence, MINUTE))
    return fence.job_id


def in_line(bench: Bench) -> str:
    bench.submit(thread="run")
    return bench.submit(thread="run", on_busy="queue", delay=MINUTE)


def asking(bench: Bench) -> str:
    fence = bench.start()
    bench.suspend(fence)
    return fence.job_id


def parent(bench: Bench) -> str:
    family = Family(bench, bench.start(), 2)
    family.spawn()
    return family.parent


def completed(bench: Bench) -> str:
    fence = bench.start()
    bench.do(c.Complete(fence, b"result"))
    return fence.job_id


@pytest.mark.parametrize(
    ("reach", "told"),
    [
        (asleep, r"submitted \(sleeping\)"),
        (in_line, r"submitted \(thread_busy\)"),
        (asking, r"input_required \(question\)"),
        (parent, r"working \(waiting_children\)"),
        (completed, "completed: only one that waits"),
    ],
)
def test_what_does_not_wait_for_its_time_is_left_alone(bench: Bench, reach: Callable[[Bench], str], told: str) -> None:
    job = reach(bench)
    with bench.nothing_changes(), pytest.raises(WrongState, match=told):
        bench.do(c.RunNow(job))


def test_an_unknown_job(bench: Bench) -> None:
    with pytest.raises(NotFound, match="j" * 24):
        bench.do(c.RunNow("j" * 24))
