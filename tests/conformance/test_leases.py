"""Leases: renewed by heartbeats, taken back by reap. Until then an expired one is still its holder's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import POISON
from tests.conformance.test_lanes import ENDS
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.children import Family


def test_a_heartbeat_renews(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Heartbeat(((fence, 2 * MINUTE),))) == [""]
    assert bench.job(fence.job_id).lease_until == bench.clock.now + 2 * MINUTE
    bench.clock.advance(2 * MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    bench.clock.advance(1)
    assert bench.do(c.Reap()).moved == 1


def test_a_heartbeat_tells_what_became_of_each_lease(bench: Bench) -> None:
    held, lost, canceled, ended = (bench.start(lease=MINUTE) for _ in range(4))
    bench.do(c.Release(lost))
    bench.do(c.Cancel(canceled.job_id))
    bench.do(c.Complete(ended, b"result"))
    unknown = c.Fence(mint("j"), 1, mint("l"))
    stale = replace(held, token=held.token - 1)
    fences = (lost, held, canceled, ended, unknown, stale)
    assert bench.do(c.Heartbeat(tuple((fence, 1) for fence in fences))) == [
        "lost",
        "",
        "canceled",
        "lost",
        "lost",
        "lost",
    ]


def test_a_heartbeat_for_a_lost_lease_changes_nothing(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    bench.take(worker="w2")
    with bench.nothing_changes():
        assert bench.do(c.Heartbeat(((fence, MINUTE),))) == ["lost"]
    with bench.nothing_changes():
        assert bench.do(c.Heartbeat(())) == []


@pytest.mark.parametrize("end", [*(end for end in ENDS if end != "lease expired"), "spawn"])
def test_one_that_was_given_up_does_not_expire(bench: Bench, end: str) -> None:
    fence = bench.start(lease=MINUTE)
    if end == "spawn":
        Family(bench, fence, 1).spawn()
    else:
        ENDS[end](bench, fence)
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.Reap()).moved == 0
    assert "lease.expired" not in bench.happened(fence.job_id)


def test_an_expired_lease_is_good_until_it_is_taken_back(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(60 * MINUTE)
    saved = bench.save(fence, thread=fence.job_id)
    assert bench.do(c.Heartbeat(((fence, MINUTE),))) == [""]
    assert bench.do(c.Reap()).moved == 0
    bench.do(c.Complete(fence, b"result"))
    assert (bench.state(fence.job_id), bench.tip(fence.job_id)) == (("completed", ""), saved)


def test_a_reap_may_leave_expired_leases_to_their_holders(bench: Bench) -> None:
    """As it does after the store was away: they could not renew them."""
    fence, timed = bench.start(), bench.submit("other", delay=MINUTE)
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.Reap(leases=False)).moved == 1
    assert (bench.state(fence.job_id)[0], bench.state(timed)) == ("working", ("submitted", "ready"))
    bench.do(c.Heartbeat(((fence, MINUTE),)))
    assert bench.do(c.Reap()).moved == 0


def test_a_claim_does_not_take_expired_leases(bench: Bench) -> None:
    bench.start(lease=MINUTE)
    bench.clock.advance(60 * MINUTE)
    assert bench.claim(5) == []


def test_reap_makes_a_dead_workers_job_ready(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    saved = bench.save(fence, thread=fence.job_id, records={"a": b"1"})
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    bench.clock.advance(1)
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.lease, row.worker, row.crashes) == ("submitted", "ready", "", "", 1)
    assert row.updated == bench.clock.now
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.checkpoint.id, delivery.job.attempt, dict(delivery.journal)) == (saved, 1, {"a": b"1"})
    [event] = [row.fields for row in bench.do(c.Events()) if row.fields["type"] == "batonpass.lease.expired"]
    assert (event["subject"], event["worker"], event["token"]) == (fence.job_id, "w", str(fence.token))


@pytest.mark.one_partition
def test_reap_takes_no_more_than_its_limit_the_longest_expired_first(bench: Bench) -> None:
    fences = [bench.start(lease=MINUTE + n) for n in range(5)]
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.Reap(limit=3)) == c.Reaped(3, 0)
    assert [delivery.job.id for delivery in bench.claim(5)] == [fence.job_id for fence in fences[:3]]
    assert bench.do(c.Reap(limit=3)).moved == 2


def test_reap_says_when_it_has_something_to_do_next(bench: Bench) -> None:
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    bench.submit(delay=MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, MINUTE)
    bench.start(lease=1000)
    assert bench.do(c.Reap()) == c.Reaped(0, 1000)
    bench.clock.advance(300)
    assert bench.do(c.Reap()) == c.Reaped(0, 700)


def test_a_job_that_kills_its_workers_is_parked(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE, key="k")
    saved = bench.save(fence, thread=fence.job_id)
    for crashes in range(1, POISON):
        bench.clock.advance(MINUTE)
        bench.do(c.Reap())
        assert bench.job(fence.job_id).crashes == crashes
        fence = bench.take_again(fence.job_id, lease=MINUTE, worker=f"w{crashes + 1}")
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.crashes, row.lease) == ("failed", "poison", POISON, "")
    last = f"worker w{POISON} let its lease expire"
    assert row.error == f"{POISON} workers died or went silent while they ran this hop; the last: {last}"
    assert (row.tip, bench.tip(row.thread)) == (saved, saved)
    assert bench.claim() == []
    assert bench.happened(row.id)[-1] == "job.failed"
    assert bench.submit(key="k") == row.id
    bench.submit(thread=row.thread)


def test_deaths_are_counted_for_each_hop(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    fence = bench.take()
    assert bench.job(fence.job_id).crashes == 1
    bench.do(c.HandOff(fence, new_target("review")))
    assert bench.job(fence.job_id).crashes == 0
