"""A failed attempt is timed and tried again, with everything that it had."""

from __future__ import annotations

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_target
from tests.harness.children import Family


def test_an_attempt_is_tried_again_when_its_time_comes(bench: Bench) -> None:
    fence = bench.start()
    saved = bench.save(fence, thread=fence.job_id, records={"a": b"1"})
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.attempt, row.error) == ("submitted", "retry_at", 2, "boom")
    assert row.due == bench.clock.now + MINUTE
    assert bench.claim() == []
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    bench.clock.advance(1)
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert (*bench.state(row.id), bench.job(row.id).due) == ("submitted", "ready", 0)
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.job.attempt, delivery.checkpoint.id, dict(delivery.journal)) == (2, saved, {"a": b"1"})
    assert bench.happened(row.id)[-4:] == ["checkpoint.saved", "job.retrying", "job.submitted", "job.started"]


def test_it_tells_when(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    event = bench.do(c.Events(subject=fence.job_id))[-1].fields
    assert (event["attempt"], event["due"], event["error"]) == ("2", str(bench.clock.now + MINUTE), "boom")


def test_at_once_is_as_soon_as_somebody_looks(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Fail(fence, "boom", "", retry_in=0))
    bench.clock.advance(1)
    assert bench.do(c.Reap()).moved == 1
    assert bench.take().job_id == fence.job_id


@pytest.mark.one_partition
def test_timers_come_due_in_order_and_no_more_than_the_limit(bench: Bench) -> None:
    jobs = [bench.submit(delay=MINUTE - n) for n in range(5)]
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap(limit=2)).moved == 2
    assert [delivery.job.id for delivery in bench.claim(5)] == [jobs[4], jobs[3]]
    assert bench.do(c.Reap(limit=9)).moved == 3
    assert [delivery.job.id for delivery in bench.claim(5)] == [jobs[2], jobs[1], jobs[0]]


def test_attempts_are_counted_for_each_hop_and_takeovers_are_not(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    fence = bench.take()
    assert bench.job(fence.job_id).attempt == 1
    bench.do(c.Fail(fence, "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    assert bench.job(bench.take().job_id).attempt == 2


def test_it_knows_when_the_hops_first_attempt_failed(bench: Bench) -> None:
    fence = bench.start()
    assert bench.job(fence.job_id).failing == 0
    first = bench.clock.now
    for _ in range(2):
        bench.do(c.Fail(fence, "boom", "", retry_in=1))
        bench.clock.advance(MINUTE)
        bench.do(c.Reap())
        fence = bench.take()
        assert bench.job(fence.job_id).failing == first
    bench.do(c.Fail(fence, "boom", "attempts"))
    bench.do(c.Redrive(fence.job_id))
    assert bench.job(fence.job_id).failing == 0
    fence, again = bench.take(), bench.clock.now
    bench.do(c.Fail(fence, "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    fence = bench.take()
    assert bench.job(fence.job_id).failing == again
    bench.do(c.HandOff(fence, new_target("review"), None))
    assert bench.job(fence.job_id).failing == 0


def test_what_has_not_failed_yet_does_not_fail_while_it_waits(bench: Bench) -> None:
    fence = bench.start()
    bench.suspend(fence)
    assert bench.job(fence.job_id).failing == 0
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    bench.clock.advance(MINUTE)
    assert bench.job(bench.take().job_id).failing == 0


@pytest.mark.one_partition
@pytest.mark.parametrize("waits_for", ["an answer", "children", "its turn"])
def test_while_it_waits_it_does_not_fail(bench: Bench, waits_for: str) -> None:
    """The time since the first failure stands still until the job is claimed again."""
    limits = {new_target().queue: c.Limits("a" * 32, concurrency=1)}
    fence = bench.start()
    bench.do(c.Fail(fence, "boom", "", retry_in=10))
    bench.clock.advance(20)
    bench.do(c.Reap())
    running = fence
    if waits_for == "its turn":
        other = bench.submit("write", terms=c.Terms(priority=1))
        queues = tuple((new_target(priority=band).queue, MINUTE * 1000) for band in (1, 0))
        asked = c.Claim("w", queues, (mint("l"), mint("l")), {queue: limits[new_target().queue] for queue, _ in queues})
        [running] = map(fence_of, bench.do(asked))
        assert (running.job_id, bench.state(fence.job_id)) == (other, ("submitted", "limited"))
    else:
        fence = bench.take()
        bench.clock.advance(3)
    failing = 20 if waits_for == "its turn" else 23
    family = Family(bench, fence, 1)
    if waits_for == "an answer":
        bench.suspend(fence)
    elif waits_for == "children":
        family.spawn()
    assert bench.job(fence.job_id).failing == -failing
    bench.clock.advance(500 * MINUTE)
    if waits_for == "an answer":
        bench.do(c.AnswerJob(fence.job_id, b"yes"))
    elif waits_for == "children":
        family.end(0, "+")
    else:
        bench.do(c.Complete(running, b"done"))
    bench.clock.advance(MINUTE)
    [again] = bench.do(c.Claim("w", ((new_target().queue, MINUTE),), (mint("l"),), limits))
    assert again.job.failing == bench.job(fence.job_id).failing == bench.clock.now - failing
    bench.clock.advance(5)
    bench.do(c.Fail(fence_of(again), "boom", "", retry_in=10))
    assert bench.job(fence.job_id).failing == bench.clock.now - failing - 5
