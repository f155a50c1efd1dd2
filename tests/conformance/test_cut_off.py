"""A worker that could not reach the store comes back: that its lease ran out was no death."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.bench import MINUTE, Bench, fence_of, new_target


def lost(bench: Bench) -> c.Fence:
    """A lease that ran out and was taken back."""
    fence = bench.start(lease=MINUTE)
    runs_out(bench)
    return fence


def runs_out(bench: Bench) -> None:
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())


def test_its_death_is_taken_back_once(bench: Bench) -> None:
    fence = lost(bench)
    before = bench.job(fence.job_id)
    assert before.crashes == 1
    bench.do(c.Release(fence, cut_off=True))
    row = bench.job(fence.job_id)
    assert replace(row, updated=before.updated, closed=before.closed) == replace(before, crashes=0)
    with bench.nothing_changes():
        bench.do(c.Release(fence, cut_off=True))


def test_also_while_another_worker_has_the_job(bench: Bench) -> None:
    fence = lost(bench)
    other = bench.take(worker="w2", lease=MINUTE)
    bench.do(c.Release(fence, cut_off=True))
    row = bench.job(fence.job_id)
    assert (row.state, row.crashes, row.lease, row.token) == ("working", 0, other.lease_id, other.token)
    runs_out(bench)
    assert bench.job(fence.job_id).crashes == 1
    with pytest.raises(bp.Fenced), bench.nothing_changes():
        bench.do(c.Release(fence, cut_off=True))


def test_a_lease_that_nobody_took_is_given_back(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Release(fence, cut_off=True))
    assert (bench.state(fence.job_id), bench.job(fence.job_id).crashes) == (("submitted", "ready"), 0)
    assert bench.happened(fence.job_id)[-1] == "job.released"


def test_who_does_not_say_so_is_refused(bench: Bench) -> None:
    fence = lost(bench)
    for write in (c.Release(fence), c.Release(fence, "it died"), c.Complete(fence, b"result")):
        with pytest.raises(bp.Fenced), bench.nothing_changes():
            bench.do(write)
    with pytest.raises(bp.Fenced), bench.nothing_changes():
        bench.do(c.Release(replace(fence, lease_id="l" * 24), cut_off=True))


ENDS: dict[str, Callable[[c.Fence], c.Command[None]]] = {
    "died": lambda fence: c.Release(fence, "it died"),
    "handed off": lambda fence: c.HandOff(fence, new_target("review")),
    "completed": lambda fence: c.Complete(fence, b"result"),
    "failed": lambda fence: c.Fail(fence, "boom", "attempts"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_next_delivery_is_too_late(bench: Bench, end: str) -> None:
    fence = lost(bench)
    bench.do(ENDS[end](bench.take()))
    with pytest.raises(bp.Fenced), bench.nothing_changes():
        bench.do(c.Release(fence, cut_off=True))


def test_so_is_a_cancel(bench: Bench) -> None:
    fence = lost(bench)
    bench.do(c.Cancel(fence.job_id))
    with pytest.raises(bp.Canceled), bench.nothing_changes():
        bench.do(c.Release(fence, cut_off=True))


def test_a_job_whose_workers_are_cut_off_again_and_again_is_not_parked(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    for _ in range(2 * POISON):
        runs_out(bench)
        bench.do(c.Release(fence, cut_off=True))
        fence = bench.take(lease=MINUTE)
    assert bench.job(fence.job_id).crashes == 0


def test_one_that_is_parked_stays_so(bench: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    for _ in range(POISON - 1):
        runs_out(bench)
        fence = bench.take_again(fence.job_id, lease=MINUTE)
    runs_out(bench)
    assert bench.state(fence.job_id) == ("failed", "poison")
    with pytest.raises(bp.Fenced), bench.nothing_changes():
        bench.do(c.Release(fence, cut_off=True))


def test_who_has_the_lease_again_gives_it_back(bench: Bench) -> None:
    """A claim that came twice, the second time late: the same lease, with a newer token."""
    fence = bench.start(lease=MINUTE)
    claim = c.Claim("w", ((new_target("write").queue, MINUTE),), (fence.lease_id,))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    [again] = bench.do(claim)
    assert again.job.token > fence.token
    bench.do(c.Release(fence_of(again), cut_off=True))
    assert bench.state(fence.job_id) == ("submitted", "ready")
