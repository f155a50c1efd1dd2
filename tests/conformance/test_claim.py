"""Claiming: first in first out, no more than wanted, and everything that a worker needs in one answer."""

from __future__ import annotations

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_target

QUEUE = new_target().queue


def leases(wanted: int) -> tuple[str, ...]:
    return tuple(mint("l") for _ in range(wanted))


@pytest.mark.one_partition
def test_first_in_first_out(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(5)]
    assert [delivery.job.id for delivery in bench.claim(5)] == jobs


@pytest.mark.one_partition
def test_no_more_than_wanted(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(5)]
    assert [delivery.job.id for delivery in bench.claim(2)] == jobs[:2]
    assert [delivery.job.id for delivery in bench.claim(9)] == jobs[2:]
    assert bench.claim(9) == []


def test_nothing_ready_changes_nothing(bench: Bench) -> None:
    bench.start()
    assert bench.claim(3) == []
    with bench.nothing_changes():
        assert bench.claim(3) == []


@pytest.mark.one_partition
def test_a_claim_that_gets_less_tells_when_something_is_due(bench: Bench) -> None:
    """So that a worker with a free slot does not look too late."""
    fence = bench.start()
    bench.do(c.Release(fence))
    bench.submit(delay=700)
    [delivery] = found = bench.do(c.Claim("w", ((QUEUE, MINUTE),), leases(2)))
    assert found.due == 700
    bench.do(c.Fail(fence_of(delivery), "boom", "", 300))
    bench.submit()
    full = bench.do(c.Claim("w", ((QUEUE, MINUTE),), leases(1)))
    assert (len(full), full.due) == (1, -1)
    bench.submit()
    assert bench.do(c.Claim("w", ((QUEUE, MINUTE),), leases(2))).due == 300


def test_several_queues_in_order_each_with_its_own_lease(bench: Bench) -> None:
    review, write = bench.submit("review"), bench.submit("write")
    queues = ((new_target("write").queue, 1000), (new_target("empty").queue, 5), (new_target("review").queue, 2000))
    given = leases(3)
    deliveries = bench.do(c.Claim("w", queues, given))
    assert [(d.job.id, d.job.lease, d.job.lease_until - bench.clock.now) for d in deliveries] == [
        (write, given[0], 1000),
        (review, given[1], 2000),
    ]


@pytest.mark.one_partition
def test_a_worker_may_serve_thousands_of_agents(bench: Bench) -> None:
    """A script gives a command 8,000 arguments at most."""
    queues = [(f"{n:032x}", MINUTE) for n in range(9000)] + [(new_target(agent).queue, MINUTE) for agent in "ab"]
    first, paused = bench.submit("a"), bench.submit("b")
    bench.do(c.PauseAgent("b"))

    def claim(wanted: int) -> list[str]:
        return [each.job.id for each in bench.do(c.Claim("w", tuple(queues), leases(wanted)))]

    assert claim(5) == [first]
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())
    later = bench.submit("a")
    assert set(claim(5)) == {first, later}
    bench.do(c.ResumeAgent("b"))
    assert claim(5) == [paused]
    assert claim(5) == []


def test_a_queue_that_fills_the_wish_leaves_the_next_alone(bench: Bench) -> None:
    bench.submit("write")
    review = bench.submit("review")
    queues = ((new_target("write").queue, 1000), (new_target("review").queue, 1000))
    assert [d.job.agent for d in bench.do(c.Claim("w", queues, leases(1)))] == ["write"]
    assert bench.state(review) == ("submitted", "ready")


def test_the_lease_is_in_the_job(bench: Bench) -> None:
    job_id = bench.submit()
    bench.clock.advance(5)
    [lease] = given = leases(1)
    [delivery] = bench.do(c.Claim("worker-7", ((new_target().queue, MINUTE),), given))
    row = delivery.job
    assert (row.state, row.reason, row.ready) == ("working", "", 0)
    assert (row.lease, row.worker, row.lease_until) == (lease, "worker-7", bench.clock.now + MINUTE)
    assert row.updated == bench.clock.now == row.created + 5
    assert bench.job(job_id) == row
    events = bench.do(c.Events(subject=job_id))
    assert [(row.fields["type"], row.fields.get("worker"), row.fields.get("token")) for row in events] == [
        ("batonpass.job.submitted", None, None),
        ("batonpass.job.started", "worker-7", str(row.token)),
    ]


def test_checkpoint_and_journal_come_along(bench: Bench) -> None:
    fence = bench.start()
    saved = bench.save(fence, {"n": 1}, thread=fence.job_id, records={"a": b"1", "b": b"2"})
    bench.do(c.Record(fence, {"c": b"3", "a": b"4"}))
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert delivery.checkpoint == bench.do(c.Restore(saved))
    assert dict(delivery.journal) == {"a": b"4", "b": b"2", "c": b"3"}


def test_a_new_job_brings_neither(bench: Bench) -> None:
    bench.submit()
    [delivery] = bench.claim()
    assert (delivery.checkpoint, dict(delivery.journal)) == (None, {})


def test_a_new_hop_has_an_empty_journal(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, {"a": b"1"}))
    bench.do(c.HandOff(fence, new_target("review")))
    [delivery] = bench.claim(agent="review")
    assert (delivery.job.hop, dict(delivery.journal)) == (1, {})


def test_a_journal_of_thousands_is_kept_whole(bench: Bench) -> None:
    fence = bench.start()
    many = {f"step/{n}": b"x" for n in range(9000)}
    bench.do(c.Record(fence, many))
    bench.save(fence, thread=fence.job_id, records={f"more/{n}": b"y" for n in range(9000)})
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert len(delivery.journal) == 18000


def test_only_one_of_many_gets_a_job(bench: Bench) -> None:
    job_id = bench.submit()
    beside = [bench.beside() for _ in range(3)] if bench.harness.shared else [bench]
    found = [delivery.job.id for other in [*beside, bench] for delivery in other.claim()]
    assert found == [job_id]
    for other in beside:
        if other is not bench:
            other.close()


def test_canceled_jobs_are_passed_over(bench: Bench) -> None:
    canceled = [bench.submit() for _ in range(40)]
    left = bench.submit()
    for job_id in canceled:
        bench.do(c.Cancel(job_id))
    assert [delivery.job.id for delivery in bench.claim(3)] == [left]
