"""Lanes limit how many of one key run at once, and start within a time. What waits is never forgotten, whoever dies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import NEVER, Delivery, LaneRow
from tests.harness.bench import MINUTE, Bench, fence_of, new_target

pytestmark = pytest.mark.one_partition
QUEUE = new_target().queue
LANE = "a" * 32
ONE = c.Limits(LANE, concurrency=1)
TWO = c.Limits(LANE, concurrency=2)
RATE = c.Limits(LANE, count=2, per=MINUTE)


def claim(bench: Bench, limits: c.Limits | None, wanted: int = 1, lease: int = 100 * MINUTE) -> list[Delivery]:
    leases = tuple(mint("l") for _ in range(wanted))
    return bench.do(c.Claim("w", ((QUEUE, lease),), leases, {QUEUE: limits} if limits else {}))


def ids(deliveries: list[Delivery]) -> list[str]:
    return [each.job.id for each in deliveries]


def submit(bench: Bench, number: int, **more: Any) -> list[str]:
    return [bench.submit(terms=c.Terms(**more)) for _ in range(number)]


def _expired(bench: Bench, fence: c.Fence) -> None:
    bench.clock.advance(200 * MINUTE)
    bench.do(c.Reap())


ENDS: dict[str, Callable[[Bench, c.Fence], object]] = {
    "complete": lambda bench, fence: bench.do(c.Complete(fence, b"result")),
    "fail": lambda bench, fence: bench.do(c.Fail(fence, "boom", "attempts")),
    "retry": lambda bench, fence: bench.do(c.Fail(fence, "boom", "", 100 * MINUTE)),
    "hand off": lambda bench, fence: bench.do(c.HandOff(fence, new_target("review"))),
    "suspend": lambda bench, fence: bench.suspend(fence),
    "sleep": lambda bench, fence: bench.do(c.Sleep(fence, 100 * MINUTE)),
    "cancel": lambda bench, fence: bench.do(c.Cancel(fence.job_id)),
    "release": lambda bench, fence: bench.do(c.Release(fence)),
    "crash": lambda bench, fence: bench.do(c.Release(fence, "it died")),
    "lease expired": _expired,
}


@pytest.mark.parametrize("end", ENDS)
def test_one_at_a_time_in_order(bench: Bench, end: str) -> None:
    """Each end of a delivery lets the next one out, whatever end it is."""
    jobs = submit(bench, 3)
    [first] = claim(bench, ONE, 3)
    assert first.job.id == jobs[0]
    assert [bench.state(each) for each in jobs[1:]] == [("submitted", "limited")] * 2
    assert claim(bench, ONE, 3) == []
    ENDS[end](bench, fence_of(first))
    assert bench.state(jobs[1]) == ("submitted", "ready")
    assert bench.state(jobs[2]) == ("submitted", "limited")
    assert ids(claim(bench, ONE, 3)) == [jobs[1]]
    assert claim(bench, ONE, 3) == []


def test_what_was_let_out_and_ends_lets_the_next_one_out(bench: Bench) -> None:
    jobs = [*submit(bench, 2), *submit(bench, 1, within=MINUTE), *submit(bench, 1)]
    [first] = claim(bench, ONE, 4)
    bench.do(c.Complete(fence_of(first), b"result"))
    bench.do(c.Cancel(jobs[1]))
    assert bench.state(jobs[2]) == ("submitted", "ready")
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert bench.state(jobs[2]) == ("failed", "deadline")
    assert ids(claim(bench, ONE, 4)) == [jobs[3]]


def test_what_waits_in_line_can_end(bench: Bench) -> None:
    jobs = [*submit(bench, 2), *submit(bench, 1, expires=MINUTE), *submit(bench, 1)]
    [first] = claim(bench, ONE, 4)
    bench.do(c.Cancel(jobs[1]))
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.state(jobs[2]) == ("failed", "expired")
    bench.do(c.Complete(fence_of(first), b"result"))
    assert ids(claim(bench, ONE, 4)) == [jobs[3]]


def test_the_next_agent_has_lanes_of_its_own(bench: Bench) -> None:
    submit(bench, 2)
    onward = new_target("review")
    for number, delivery in enumerate(claim(bench, TWO, 2)):
        bench.do(c.HandOff(fence_of(delivery), replace(onward, lane=f"{number}" * 32)))
    asked = c.Claim("w", ((onward.queue, MINUTE),), (mint("l"), mint("l")), {onward.queue: ONE})
    assert [delivery.job.lane for delivery in bench.do(asked)] == ["0" * 32, "1" * 32]


@pytest.mark.parametrize("limits", [ONE, replace(RATE, count=1)], ids=["at once", "in a time"])
def test_keys_are_lanes_of_their_own(bench: Bench, limits: c.Limits) -> None:
    lanes = {name: new_target() for name in ("b" * 32, "c" * 32)}
    jobs = []
    for lane in [*lanes, *lanes]:
        job_id = mint("j")
        target = c.Target("write", "desk.notes@1", QUEUE, lanes[lane].envelope, lane=lane)
        jobs.append(bench.do(c.Submit(job_id, job_id, target)).id)
    assert bench.job(jobs[0]).lane == "b" * 32
    assert ids(claim(bench, limits, 4)) == jobs[:2]
    assert bench.state(jobs[2]) == ("submitted", "limited" if limits is ONE else "rate_limited")


def test_a_claim_passes_over_what_has_to_wait(bench: Bench) -> None:
    """... however few it wants. Behind more waiting ones than one look shows, others may run."""
    bench.submit()
    [_first] = claim(bench, ONE)
    waiting = submit(bench, 3)
    free = mint("j")
    bench.do(c.Submit(free, free, replace(new_target(), lane="b" * 32)))
    assert ids(claim(bench, ONE)) == [free]
    assert {bench.state(each) for each in waiting} == {("submitted", "limited")}


def test_the_urgent_are_let_out_first(bench: Bench) -> None:
    queues = tuple((new_target(priority=band).queue, MINUTE) for band in (-1, 0, 1))
    limits = {queue: ONE for queue, _ in queues}
    [first] = submit(bench, 1)
    [running] = claim(bench, ONE)
    low, normal, high = (bench.submit(terms=c.Terms(priority=band)) for band in (-1, 0, 1))
    assert bench.do(c.Claim("w", queues, (mint("l"),), limits)) == []
    order = [first]
    for _ in range(3):
        bench.do(c.Complete(fence_of(running), b"result"))
        [running] = bench.do(c.Claim("w", queues, (mint("l"),), limits))
        order.append(running.job.id)
    assert order == [first, high, normal, low]


def test_other_numbers_count_at_once(bench: Bench) -> None:
    jobs = submit(bench, 6)
    [first] = claim(bench, ONE, 6)
    bench.do(c.Complete(fence_of(first), b"result"))
    more = [ids(claim(bench, TWO, 6)) for _ in range(3)]
    assert more == [[jobs[1]], [jobs[2]], []], "the first that comes lets out as many as there is room for"
    assert claim(bench, None) == [], "nothing was let out"
    bench.do(c.Cancel(jobs[2]))
    rest = [ids(claim(bench, None, 6)) for _ in range(4)]
    assert rest == [[jobs[3]], [jobs[4]], [jobs[5]], []], "without limits they follow each other"


def test_too_many_let_out_go_back_to_the_front(bench: Bench) -> None:
    jobs = submit(bench, 5)
    started = claim(bench, TWO, 5)
    for each in started:
        bench.do(c.Complete(fence_of(each), b"result"))
    [second] = claim(bench, ONE, 5)
    assert second.job.id == jobs[2]
    assert bench.state(jobs[3]) == ("submitted", "limited")
    submit(bench, 1)
    assert claim(bench, TWO, 5) == []
    assert bench.state(jobs[3]) == ("submitted", "ready"), "two may run, but one does"
    bench.do(c.Complete(fence_of(second), b"result"))
    assert ids(claim(bench, ONE, 5)) == [jobs[3]]


def test_so_many_start_in_a_time(bench: Bench) -> None:
    jobs = submit(bench, 5)
    start = bench.clock.now
    assert ids(claim(bench, RATE)) == jobs[:1]
    bench.clock.advance(1000)
    second = claim(bench, RATE, 5)
    assert ids(second) == [jobs[1]]
    assert {bench.state(each) for each in jobs[2:]} == {("submitted", "rate_limited")}
    bench.do(c.Complete(fence_of(second[0]), b"result"))
    assert claim(bench, RATE, 5) == [], "an end does not make room"
    assert bench.do(c.Reap()).next_due == start + MINUTE - bench.clock.now
    bench.clock.advance(MINUTE - 1000)
    assert (bench.do(c.Reap()).moved, bench.do(c.Reap()).moved) == (1, 0)
    assert ids(claim(bench, RATE, 5)) == [jobs[2]]
    bench.clock.advance(1000)
    bench.do(c.Reap())
    assert ids(claim(bench, RATE, 5)) == [jobs[3]]
    bench.clock.advance(10 * MINUTE)
    bench.do(c.Reap())
    assert ids(claim(bench, RATE, 5)) == [jobs[4]]
    assert bench.do(c.Reap(limit=500)).moved == 0


def test_older_starts_do_not_count(bench: Bench) -> None:
    """Also if nobody has tidied up since."""
    for _ in range(2):
        jobs = submit(bench, 2)
        assert ids(claim(bench, RATE, 2)) == jobs
        bench.clock.advance(MINUTE)


def test_a_claim_that_is_said_again_counts_its_starts_again(bench: Bench) -> None:
    """As if its reply was lost: other deliveries get the leases that it names, and start, too."""
    submit(bench, 4)
    again = c.Claim("w", ((QUEUE, MINUTE),), (mint("l"),), {QUEUE: RATE})
    assert [len(bench.do(again)) for _ in range(3)] == [1, 1, 0]
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert [len(bench.do(again)) for _ in range(3)] == [1, 1, 0]


def test_the_rest_of_a_claim_that_is_said_again_waits(bench: Bench) -> None:
    jobs = submit(bench, 4)
    again = c.Claim("w", ((QUEUE, MINUTE),), (mint("l"),), {QUEUE: RATE})
    bench.do(again)
    assert len(bench.do(replace(again, leases=(*again.leases, mint("l"), mint("l"))))) == 1
    assert {bench.state(each) for each in jobs[2:]} == {("submitted", "rate_limited")}


def test_before_its_time_a_line_moves_when_it_is_asked_to(bench: Bench) -> None:
    """As when an app declares another rate. If the next claim finds that it is too early, it waits as before."""
    jobs = submit(bench, 5)
    start = bench.clock.now
    assert ids(claim(bench, RATE, 5)) == jobs[:2]
    bench.clock.advance(1000)
    assert bench.do(c.Reap()).moved == 0
    assert bench.do(c.Reap(early=True)).moved == 1
    assert claim(bench, RATE, 5) == []
    assert bench.do(c.Reap()).next_due == start + MINUTE - bench.clock.now
    bench.do(c.Reap(early=True))
    assert [ids(claim(bench, c.Limits(LANE, count=4, per=MINUTE), 5)) for _ in range(3)] == [[jobs[2]], [jobs[3]], []]
    bench.do(c.Reap(early=True))
    assert claim(bench, c.Limits(LANE, count=2, per=2 * MINUTE), 5) == []
    assert bench.do(c.Reap()).next_due == 2 * MINUTE, "a lower rate counts at once, too"


def test_more_at_once_start_when_they_are_declared(bench: Bench) -> None:
    """Not only when something that runs there ends. A claim with the earlier numbers puts back what was let out."""
    jobs = submit(bench, 5)
    [first] = claim(bench, ONE, 5)
    assert bench.do(c.Reap()) == c.Reaped(0, 100 * MINUTE)
    assert bench.do(c.Reap(early=True)).moved == 1
    assert claim(bench, ONE, 5) == []
    assert bench.do(c.Reap(early=True)).moved == 1
    assert [ids(claim(bench, c.Limits(LANE, concurrency=3), 5)) for _ in range(3)] == [[jobs[1]], [jobs[2]], []]
    bench.do(c.Complete(fence_of(first), b"result"))
    assert bench.state(jobs[3]) == ("submitted", "ready")
    bench.do(c.Cancel(jobs[4]))
    assert ids(claim(bench, TWO, 5)) == []
    bench.do(c.Cancel(jobs[3]))
    assert bench.do(c.Reap(early=True)).moved == 0, "nobody waits there any more"


def test_both_limits(bench: Bench) -> None:
    limits = c.Limits(LANE, concurrency=1, count=2, per=MINUTE)
    jobs = submit(bench, 4)
    for job_id in jobs[:2]:
        [delivery] = claim(bench, limits, 4)
        assert delivery.job.id == job_id
        bench.do(c.Complete(fence_of(delivery), b"result"))
    assert claim(bench, limits, 4) == []
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    [third] = claim(bench, limits, 4)
    assert third.job.id == jobs[2]
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert claim(bench, limits, 4) == [], "there would be time for it, and no room"
    bench.do(c.Complete(fence_of(third), b"result"))
    assert ids(claim(bench, limits, 4)) == [jobs[3]]


def test_starts_are_kept_while_they_count(bench: Bench) -> None:
    """Also of a lane that never rests."""

    def kept() -> int:
        """Starts, by their table, dict or key."""
        dump = bench.harness.dump()
        found: list[Any] = [each for name, each in dump.items() if name.split(" ")[-1] in ("start", "_starts")]
        found += [each for name, each in dump.items() if "}:ls:" in name]
        return sum(len(rows) for each in found for rows in (each.values() if isinstance(each, dict) else [each]))

    for _ in range(6):
        [job_id] = submit(bench, 1)
        [delivery] = claim(bench, RATE)
        assert delivery.job.id == job_id
        bench.do(c.Complete(fence_of(delivery), b"result"))
        bench.clock.advance(MINUTE // 2)
        bench.do(c.Reap())
        assert 1 <= kept() <= 2


def test_who_has_a_place_and_when_the_line_moves(bench: Bench) -> None:
    jobs = submit(bench, 4)
    read = c.ReadLane(jobs[0], LANE, 5)
    assert bench.do(read) == LaneRow(())
    running = claim(bench, TWO, 4)
    assert bench.do(read) == LaneRow(tuple(sorted(jobs[:2])), NEVER)
    assert bench.do(replace(read, limit=1)).holders == (min(jobs[:2]),)
    bench.do(c.Complete(fence_of(running[0]), b""))
    assert bench.do(read).holders == (jobs[2], running[1].job.id)  # the first in line was let out


def test_when_the_line_of_a_rate_moves(bench: Bench) -> None:
    jobs = submit(bench, 3)
    claim(bench, RATE, 3)
    assert bench.do(c.ReadLane(jobs[2], LANE, 5)).opens == bench.clock.now + MINUTE
