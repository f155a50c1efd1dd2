"""Cancelling ends a job at once, in every state that is not an end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_target


def ready(bench: Bench) -> str:
    return bench.submit(thread="run", key="k", key_ttl=MINUTE)


def scheduled(bench: Bench) -> str:
    return bench.submit(thread="run", key="k", key_ttl=MINUTE, delay=MINUTE)


def working(bench: Bench) -> str:
    ready(bench)
    return bench.take().job_id


def working_expired(bench: Bench) -> str:
    job_id = working(bench)
    bench.clock.advance(2 * MINUTE)
    return job_id


def retried(bench: Bench) -> str:
    ready(bench)
    fence = bench.take()
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    return fence.job_id


def asking(bench: Bench) -> str:
    ready(bench)
    fence = bench.take()
    bench.suspend(fence)
    return fence.job_id


def answered(bench: Bench) -> str:
    job_id = asking(bench)
    bench.do(c.AnswerJob(job_id, b"yes"))
    return job_id


def handed_on(bench: Bench) -> str:
    ready(bench)
    fence = bench.take()
    bench.do(c.HandOff(fence, new_target("review")))
    return fence.job_id


@pytest.mark.parametrize("reach", [ready, scheduled, working, working_expired, retried, asking, answered, handed_on])
def test_cancel(bench: Bench, reach: Callable[[Bench], str]) -> None:
    job_id = reach(bench)
    bench.clock.advance(5)
    assert bench.do(c.Cancel(job_id)) is True
    row = bench.job(job_id)
    assert (row.state, row.reason, row.lease, row.worker, row.lease_until, row.due, row.ready) == (
        *("canceled", "", "", ""),
        *(0, 0, 0),
    )
    assert row.updated == bench.clock.now
    assert bench.happened(job_id)[-1] == "job.canceled"
    with bench.nothing_changes():
        assert bench.do(c.Cancel(job_id)) is False
    bench.clock.advance(MINUTE // 2)
    assert bench.submit(key="k") == job_id
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.claim() == bench.claim(agent="review") == []
    assert bench.submit(key="k", thread="run") != job_id


@pytest.mark.parametrize(
    "end",
    [
        lambda fence: c.Complete(fence, b"result"),
        lambda fence: c.Fail(fence, "boom", "attempts"),
        lambda fence: c.Fail(fence, "no", "rejected", None, "rejected"),
    ],
    ids=["completed", "failed", "rejected"],
)
def test_an_ended_job_stays_what_it_is(bench: Bench, end: Callable[[c.Fence], c.Command[None]]) -> None:
    fence = bench.start()
    bench.do(end(fence))
    with bench.nothing_changes():
        assert bench.do(c.Cancel(fence.job_id)) is False


def test_the_event_says_who_was_at_it(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Cancel(fence.job_id))
    assert bench.do(c.Events(subject=fence.job_id))[-1].fields["worker"] == "w"
