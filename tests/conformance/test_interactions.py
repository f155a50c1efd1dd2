"""Jobs in several things at once: a thread's line, a lane, a fan-out, a question, a time. Each end frees all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import seal_blob
from batonpass.coordinator.rows import Delivery
from tests.conformance.test_leftovers import kept
from tests.harness.bench import MINUTE, Bench, fence_of, new_target
from tests.harness.children import Family

pytestmark = pytest.mark.one_partition
QUEUE = new_target().queue
LANE, OTHER = "a" * 32, "b" * 32
ONE = c.Limits(LANE, concurrency=1)
RATE = c.Limits(LANE, count=1, per=MINUTE)
DAYS = 10 * 24 * 60 * MINUTE
# What a store keeps for itself.
_OWN = ("namespace", ":schema", ":epoch", ":rewound", ":partitions")
ASKS = seal_blob("sure?", path="question")


def claim(bench: Bench, wanted: int = 9, *, limits: c.Limits = ONE, lease: int = DAYS) -> list[Delivery]:
    leases = tuple(mint("l") for _ in range(wanted))
    return bench.do(c.Claim("w", ((QUEUE, lease),), leases, {QUEUE: limits}))


def ids(deliveries: list[Delivery]) -> list[str]:
    return [each.job.id for each in deliveries]


def settle(bench: Bench, limit: int = 1) -> None:
    """Reap, in small steps, until nothing is due."""
    while bench.do(c.Reap(limit)).next_due == 0:
        pass


def nothing_is_left(bench: Bench) -> None:
    """A new job runs at once in each lane, and when everything is pruned, nothing is left."""
    for lane in (LANE, OTHER):
        last = bench.submit()
        [delivery] = claim(bench, limits=c.Limits(lane, concurrency=1))
        assert delivery.job.id == last
        bench.do(c.Complete(fence_of(delivery), b"result"))
    bench.clock.advance(DAYS)
    settle(bench, 100)
    assert bench.do(c.PruneJobs(MINUTE)).next == -1
    bench.clock.advance(DAYS)
    bench.do(c.Reap())
    for agent in ("write", "other", "parent"):
        assert bench.claim(9, agent=agent) == []
    left = {name for name in kept(bench.harness) if not name.endswith(_OWN)}
    assert left == set()


def test_children_wait_in_the_lane_of_their_key(bench: Bench) -> None:
    """Also those that were staged."""
    fence = bench.start("parent")
    family = Family(bench, fence, 4)
    lanes = (LANE, OTHER, LANE, OTHER)
    family.children = tuple(
        c.Child(each.job_id, each.number, c.Target("write", "desk.notes@1", QUEUE, each.target.envelope, lane=lane))
        for each, lane in zip(family.children, lanes, strict=True)
    )
    bench.do(c.Stage(fence, 0, family.children[2:]))
    family.spawn(given=2)
    settle(bench)
    assert ids(claim(bench)) == family.ids[:2]
    assert [bench.job(each).lane for each in family.ids] == list(lanes)
    assert {bench.state(each) for each in family.ids[2:]} == {("submitted", "limited")}


@pytest.mark.parametrize("limits", [ONE, RATE], ids=["concurrency", "rate"])
def test_limited_children_that_nobody_waits_for(bench: Bench, limits: c.Limits) -> None:
    for end in ("met", "canceled", "deadline", "interrupted"):
        nobody_waits(bench, limits, end)


def nobody_waits(bench: Bench, limits: c.Limits, end: str) -> None:
    """The children of a parent that continued, or ended like that."""
    fence = bench.start("parent", thread="run", terms=c.Terms(within=2 * MINUTE))
    family = Family(bench, fence, 5, need=1)
    family.spawn()
    [running] = claim(bench, limits=limits)
    assert running.job.id == family.ids[0]
    stranger = bench.submit()
    assert claim(bench, limits=limits) == []
    if end == "met":
        family.complete(running)
        bench.do(c.Complete(bench.take(agent="parent"), b"result"))
    elif end == "canceled":
        bench.do(c.Cancel(fence.job_id))
    elif end == "deadline":
        bench.clock.advance(2 * MINUTE)
        bench.do(c.Reap())
    else:
        successor = bench.submit("parent", thread="run", on_busy="interrupt")
        bench.do(c.Complete(bench.take(agent="parent"), b"result"))
        assert bench.state(successor)[0] == "completed"
    settle(bench)
    assert {bench.state(each)[0] for each in family.ids[1:]} == {"canceled"}
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert ids(claim(bench, limits=limits)) == [stranger]
    bench.do(c.Cancel(stranger))
    bench.clock.advance(MINUTE)
    nothing_is_left(bench)


def test_a_parent_and_its_children_in_one_lane(bench: Bench) -> None:
    """A job that waits for its children has no place in the lane. It gets one again like any other."""
    parent = bench.submit()
    [delivery] = claim(bench)
    family = Family(bench, fence_of(delivery), 2)
    family.spawn()
    for child in family.ids:
        [running] = claim(bench)
        assert running.job.id == child
        family.complete(running)
    [again] = claim(bench)
    assert (again.job.id, again.job.done) == (parent, 2)
    bench.do(c.Complete(fence_of(again), b"result"))
    nothing_is_left(bench)


def time_is_over(bench: Bench) -> None:
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())


WAYS: dict[str, Callable[[Bench, str], object]] = {
    "cancel": lambda bench, job: bench.do(c.Cancel(job)),
    "deadline": lambda bench, job: time_is_over(bench),
    "interrupt": lambda bench, job: bench.submit("other", thread=bench.job(job).thread, on_busy="interrupt"),
    "rollback": lambda bench, job: bench.submit("other", thread=bench.job(job).thread, on_busy="rollback"),
}


def in_line(bench: Bench, job: str) -> None:
    claim(bench)
    assert bench.state(job)[1] == "limited"


def let_out(bench: Bench, job: str) -> None:
    [first] = claim(bench, 1)
    claim(bench)
    bench.do(c.Complete(fence_of(first), b"result"))
    assert bench.job(job).slot == LANE


def running(bench: Bench, job: str) -> None:
    let_out(bench, job)
    assert ids(claim(bench)) == [job]


def asking(bench: Bench, job: str) -> None:
    let_out(bench, job)
    [delivery] = claim(bench)
    bench.do(c.Suspend(fence_of(delivery), ASKS, timeout=10 * MINUTE, otherwise=b"1"))
    assert [row.id for row in bench.do(c.Inbox())] == [job]


def retrying(bench: Bench, job: str) -> None:
    let_out(bench, job)
    [delivery] = claim(bench)
    bench.do(c.Fail(fence_of(delivery), "boom", "", 10 * MINUTE))


@pytest.mark.parametrize("reach", [in_line, let_out, running, asking, retrying])
def test_out_of_everything_at_once(bench: Bench, reach: Callable[[Bench, str], None]) -> None:
    for way in WAYS.values():
        out_of_everything(bench, reach, way)


def out_of_everything(bench: Bench, reach: Callable[[Bench, str], None], way: Callable[[Bench, str], object]) -> None:
    """A job of a lane on a thread, with others behind it in both lines, ends from outside wherever it is."""
    first = bench.submit()
    job = bench.submit(thread="run", terms=c.Terms(within=2 * MINUTE), key="k")
    on_thread = bench.submit("other", thread="run", on_busy="queue")
    in_lane = bench.submit()
    reach(bench, job)
    way(bench, job)
    assert bench.state(job)[0] in ("canceled", "failed")
    assert bench.do(c.Inbox()) == []
    bench.do(c.Cancel(first))
    while deliveries := [*claim(bench), *bench.claim(agent="other")]:
        for each in deliveries:
            bench.do(c.Complete(fence_of(each), b"result"))
    assert bench.state(on_thread)[0] == bench.state(in_lane)[0] == "completed"
    assert bench.do(c.Reap()).next_due == -1
    nothing_is_left(bench)


def test_a_child_whose_place_is_taken_is_lost(bench: Bench) -> None:
    """Its thread bears its id: another job may want that."""
    family = Family(bench, bench.start("parent"), 2, spare=1)
    family.spawn()
    bench.submit("other", thread=family.ids[0], on_busy="rollback")
    assert (bench.state(family.ids[0]), bench.job(family.parent).lost) == (("canceled", ""), 1)
    assert [row.state for row in family.outcomes()] == ["canceled"]
    family.complete(bench.claim()[0])
    assert bench.state(family.parent) == ("submitted", "ready")
    bench.do(c.Complete(bench.take(agent="parent"), b"result"))
    bench.do(c.Complete(bench.take(agent="other"), b"result"))
    nothing_is_left(bench)


def test_a_failed_child_with_another_job_on_its_thread(bench: Bench) -> None:
    """It can be redriven when that has ended, and is counted no more."""
    family = Family(bench, bench.start("parent"), 1, spare=1)
    family.spawn()
    behind = bench.submit("other", thread=family.ids[0], on_busy="queue")
    family.end(0, "b")
    assert (bench.job(family.parent).verdict, bench.state(behind)[1]) == ("met", "ready")
    with bench.refused(bp.ThreadBusy, behind):
        bench.do(c.Redrive(family.ids[0]))
    bench.do(c.Complete(bench.take(agent="other"), b"result"))
    bench.do(c.Redrive(family.ids[0]))
    [again] = claim(bench)
    bench.do(c.Complete(fence_of(again), b"result"))
    bench.do(c.Complete(bench.take(agent="parent"), b"result"))
    assert [bench.state(each)[0] for each in (family.ids[0], family.parent)] == ["completed"] * 2
    nothing_is_left(bench)


def test_released_jobs_do_not_expire(bench: Bench) -> None:
    """Not even while they wait in a line afterwards. One that never started does expire, there too."""
    started = bench.submit(terms=c.Terms(expires=MINUTE))
    late = bench.submit(terms=c.Terms(expires=MINUTE))
    [delivery] = claim(bench)
    bench.do(c.Release(fence_of(delivery)))
    [other] = claim(bench)
    assert other.job.id == late
    bench.do(c.Release(fence_of(other), "it died"))
    assert claim(bench, 1)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 0
    assert {bench.state(each)[0] for each in (started, late)} == {"submitted", "working"}


def test_deleting_beside_lines(bench: Bench) -> None:
    """Ended jobs go, whatever waits beside them; what waits does not."""
    fence = bench.start(thread="run")
    waiting = [bench.submit(thread="run", on_busy="queue") for _ in range(3)]
    bench.do(c.Cancel(waiting[0]))
    bench.do(c.Complete(fence, b"result"))
    bench.clock.advance(2 * MINUTE)
    assert bench.do(c.PruneJobs(MINUTE)).count == 2
    for job in waiting[1:]:
        with bench.refused(bp.WrongState):
            bench.do(c.DeleteJob(job))
        assert bench.take().job_id == job
        bench.do(c.Complete(c.Fence(job, bench.job(job).token, bench.job(job).lease), b"result"))
    nothing_is_left(bench)


def test_children_of_a_deleted_parent_in_a_line(bench: Bench) -> None:
    family = Family(bench, bench.start("parent"), 4)
    family.spawn()
    claim(bench)
    bench.do(c.Cancel(family.parent))
    bench.do(c.DeleteJob(family.parent))
    settle(bench)
    assert {bench.state(each) for each in family.ids} == {("canceled", "")}
    nothing_is_left(bench)


def test_a_child_of_a_child_asks(bench: Bench) -> None:
    """Its question goes when the first parent's time is over."""
    fence = bench.start("parent", terms=c.Terms(within=MINUTE))
    family = Family(bench, fence, 1)
    family.spawn()
    nested = Family(bench, bench.take(), 1)
    nested.spawn()
    bench.do(c.Suspend(bench.take(), ASKS, timeout=10 * MINUTE))
    assert [row.id for row in bench.do(c.Inbox())] == nested.ids
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    settle(bench)
    assert bench.do(c.Inbox()) == []
    assert bench.do(c.Reap()).next_due == -1
    assert [bench.state(each)[0] for each in (*family.ids, *nested.ids)] == ["canceled"] * 2
    nothing_is_left(bench)
