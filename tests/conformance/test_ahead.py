"""Ahead: a job that had its turn, and continues or was held up through no fault of its own, is claimed before jobs that
still wait for theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.operations.jobs import FIRST_WAIT, SUSPECT
from batonpass.coordinator.rows import Delivery
from tests.harness.bench import MINUTE, Bench, fence_of, new_target
from tests.harness.children import Family

pytestmark = pytest.mark.one_partition
QUEUE = new_target().queue
HOUR = 60 * MINUTE
ONE = c.Limits("a" * 32, concurrency=1)


def ids(deliveries: list[Delivery]) -> list[str]:
    return [each.job.id for each in deliveries]


def claim(bench: Bench, wanted: int, limits: c.Limits | None = None) -> list[Delivery]:
    leases = tuple(mint("l") for _ in range(wanted))
    return bench.do(c.Claim("w", ((QUEUE, HOUR),), leases, {QUEUE: limits} if limits else {}))


def _expire(bench: Bench, fence: c.Fence) -> None:
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())


def _answer(bench: Bench, fence: c.Fence) -> None:
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, seal_blob("yes", path="answer")))


def _let_time_answer(bench: Bench, fence: c.Fence, **otherwise: Any) -> None:
    bench.do(c.Suspend(fence, seal_blob("sure?", path="question"), timeout=1000, **otherwise))
    bench.clock.advance(1000)
    bench.do(c.Reap())


def _sleep(bench: Bench, fence: c.Fence) -> None:
    bench.do(c.Sleep(fence, 1000))
    bench.clock.advance(1000)
    bench.do(c.Reap())


def _join(bench: Bench, fence: c.Fence) -> None:
    family = Family(bench, fence, 1, spare=1)
    family.spawn()
    bench.do(c.Cancel(family.ids[0]))


def _fail(bench: Bench, fence: c.Fence) -> None:
    bench.do(c.Fail(fence, "boom", "", retry_in=1000))
    bench.clock.advance(1000)
    bench.do(c.Reap())


def _redrive(bench: Bench, fence: c.Fence) -> None:
    bench.do(c.Fail(fence, "boom", "attempts"))
    bench.do(c.Redrive(fence.job_id))


AHEAD: dict[str, Callable[[Bench, c.Fence], object]] = {
    "released": lambda bench, fence: bench.do(c.Release(fence)),
    "crashed": lambda bench, fence: bench.do(c.Release(fence, "it died")),
    "lease expired": _expire,
    "answered": _answer,
    "default answer": lambda bench, fence: _let_time_answer(bench, fence, otherwise=seal_blob("no", path="answer")),
    "unanswered": _let_time_answer,
    "joined": _join,
}
BEHIND: dict[str, Callable[[Bench, c.Fence], object]] = {
    "failed": _fail,
    "awake": _sleep,
    "redriven": _redrive,
    "handed off": lambda bench, fence: bench.do(c.HandOff(fence, new_target())),
    "put aside": lambda bench, fence: bench.do(c.Release(fence, aside=True)),
}


@pytest.mark.parametrize("way", AHEAD)
def test_before_all_that_wait_for_their_turn(bench: Bench, way: str) -> None:
    fence = bench.start()
    waiting = [bench.submit() for _ in range(3)]
    AHEAD[way](bench, fence)
    later = bench.submit()
    assert ids(bench.claim(2)) == [fence.job_id, waiting[0]]
    assert ids(bench.claim(9)) == [*waiting[1:], later]
    assert bench.claim(9) == []


@pytest.mark.parametrize("way", BEHIND)
def test_behind_them(bench: Bench, way: str) -> None:
    """What keeps failing or looking for something, or can't be run here, keeps nobody waiting."""
    fence = bench.start()
    waiting = [bench.submit() for _ in range(3)]
    BEHIND[way](bench, fence)
    assert ids(bench.claim(9)) == [*waiting, fence.job_id]


def test_they_are_first_in_first_out_among_themselves(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(4)]
    held = {delivery.job.id: fence_of(delivery) for delivery in bench.claim(3)}
    for job in (jobs[1], jobs[2], jobs[0]):
        bench.do(c.Release(held[job]))
    assert ids(bench.claim(1)) == [jobs[1]]
    assert ids(bench.claim(9)) == [jobs[2], jobs[0], jobs[3]]


@pytest.mark.parametrize("dies", ["its process", "its worker"])
def test_who_may_be_what_kills_workers_waits_for_its_turn(bench: Bench, dies: str) -> None:
    """It may be a deploy on which every job dies, or a machine without memory: it waits, and then behind the others."""
    job = bench.submit()
    others = [bench.submit() for _ in range(2)]
    for deaths in range(1, SUSPECT + 1):
        fence = bench.take()
        assert fence.job_id == job
        AHEAD["crashed" if dies == "its process" else "lease expired"](bench, fence)
        assert bench.job(job).crashes == deaths
    row = bench.job(job)
    assert (row.state, row.reason, row.due) == ("submitted", "retry_at", bench.clock.now + FIRST_WAIT)
    assert bench.do(c.Events(subject=job))[-1].fields["due"] == str(row.due)
    bench.clock.advance(FIRST_WAIT)
    assert bench.do(c.Reap()).moved == 1
    assert ids(bench.claim(9)) == [*others, job]


def test_a_band_goes_before_what_is_ahead_in_a_lower_one(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Release(fence))
    urgent = bench.submit(terms=c.Terms(priority=1))
    queues = tuple((new_target(priority=band).queue, MINUTE) for band in (1, 0))
    assert ids(bench.do(c.Claim("w", queues, (mint("l"), mint("l"))))) == [urgent, fence.job_id]


def test_what_is_let_out_of_its_line(bench: Bench) -> None:
    """It was first in its queue before: it does not wait behind all that came since."""
    first, second = bench.submit(), bench.submit()
    [running] = claim(bench, 2, ONE)
    others = [bench.submit() for _ in range(3)]
    bench.do(c.Complete(fence_of(running), b"result"))
    assert ids(bench.claim(9)) == [second, *others]
    assert running.job.id == first


def test_in_a_line_it_waits_before_those_of_its_band(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(4)]
    [running] = claim(bench, 2, ONE)
    assert bench.state(jobs[1]) == ("submitted", "limited")
    bench.do(c.Release(fence_of(running)))
    claimed = claim(bench, 4, ONE)  # let out when the first left
    assert ids(claimed) == [jobs[1]]
    assert [bench.state(each) for each in (jobs[0], jobs[2], jobs[3])] == [("submitted", "limited")] * 3
    for job in (jobs[0], jobs[2], jobs[3]):
        bench.do(c.Complete(fence_of(claimed[0]), b"result"))
        claimed = claim(bench, 4, ONE)
        assert ids(claimed) == [job]


def test_in_a_line_they_are_first_in_first_out_among_themselves(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(5)]
    held = {delivery.job.id: fence_of(delivery) for delivery in bench.claim(3)}
    [running] = claim(bench, 1, ONE)
    for job in (jobs[1], jobs[2], jobs[0]):
        bench.do(c.Release(held[job]))
        assert claim(bench, 4, ONE) == []
    for job in (jobs[1], jobs[2], jobs[0], jobs[4]):
        bench.do(c.Complete(fence_of(running), b"result"))
        [running] = claim(bench, 4, ONE)
        assert running.job.id == job


def test_what_may_not_start_any_more_is_passed_over(bench: Bench) -> None:
    held = [bench.start(terms=c.Terms(within=MINUTE)) for _ in range(3)]
    going_on = bench.start()
    waiting = bench.submit()
    for fence in (*held, going_on):
        bench.do(c.Release(fence))
    bench.do(c.Cancel(held[0].job_id))
    bench.clock.advance(MINUTE)
    assert ids(bench.claim(1)) == [going_on.job_id]
    assert ids(bench.claim(9)) == [waiting]
    assert bench.do(c.Reap()).moved == 2
    assert [bench.state(fence.job_id) for fence in held[1:]] == [("failed", "deadline")] * 2
