"""Fan-outs: a job waits for its children without a lease, and goes on once."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import LATE
from tests.harness.bench import MINUTE, Bench, fence_of, new_checkpoint, new_target
from tests.harness.children import Family, children_of, left_of_fan_outs

ALL = 1000


def test_all_of_them(bench: Bench) -> None:
    """The parent holds nothing while it waits, and goes on with its checkpoint, its journal and results in order."""
    fence = bench.start()
    family = Family(bench, fence, 3)
    saved = new_checkpoint("asked")
    family.spawn(checkpoint=saved, records={"fan/fan_out": b"1"})
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.lease, row.worker) == ("working", "waiting_children", "", "")
    assert (row.children, row.done, row.lost, row.tip) == (3, 0, 0, saved.id)
    with bench.refused(bp.Fenced):
        bench.do(c.Record(fence, {"a": b"1"}))
    for delivery in reversed(bench.claim(3)):
        assert (delivery.job.parent, delivery.job.brood) == (fence.job_id, family.fan)
        assert bench.claim() == []
        family.complete(delivery)
    assert bench.state(fence.job_id) == ("submitted", "ready")
    [resumed] = bench.claim()
    assert (resumed.job.id, dict(resumed.journal)) == (fence.job_id, {"fan/fan_out": b"1"})
    assert resumed.checkpoint is not None
    assert resumed.checkpoint.id == saved.id
    assert (resumed.job.verdict, resumed.job.done) == ("met", 3)
    assert [(row.number, row.result) for row in family.outcomes()] == [(0, b"0"), (1, b"1"), (2, b"2")]
    assert [row.number for row in family.outcomes(1, 1)] == [1]
    told = [kind for kind in bench.happened(fence.job_id) if kind.startswith("job.")]
    assert told == ["job.submitted", "job.started", "job.fanned_out", "job.joined", "job.started"]
    begun, *_ = [row.fields for row in bench.do(c.Events(subject=family.ids[0])) if row.fields]
    assert (begun["type"], begun["parent"]) == ("batonpass.job.submitted", fence.job_id)
    assert children_of(bench, fence.job_id) == family.ids


@pytest.mark.parametrize(
    ("need", "spare", "ends", "verdict"),
    [
        (1, 3, "b+", "met"),  # any
        (2, 3, "+b+", "met"),  # two of them
        (4, 0, "+b", "broken"),  # the first that is lost
        (4, 1, "b+c", "broken"),  # one may be lost
        (4, 1, "b+++", "met"),
        (4, 4, "brc+", "met"),  # all have ended, and failures are collected
        (1, 4, "bbbb", "met"),
    ],
)
def test_what_decides(bench: Bench, need: int, spare: int, ends: str, verdict: str) -> None:
    """b: fails, r: is rejected, c: is canceled, +: completes."""
    family = Family(bench, bench.start(), 4, need=need, spare=spare)
    family.spawn()
    for number, end in enumerate(ends):
        assert bench.state(family.parent) == ("working", "waiting_children")
        family.end(number, end)
    row = bench.job(family.parent)
    assert (row.state, row.reason, row.verdict) == ("submitted", "ready", verdict)
    states = {"+": "completed", "b": "failed", "r": "rejected", "c": "canceled"}
    assert [(row.number, row.state) for row in family.outcomes()] == [(n, states[e]) for n, e in enumerate(ends)]
    reasons = {"b": ("attempts", "boom"), "r": ("no", "boom")}
    assert [(row.reason, row.error) for row in family.outcomes()] == [reasons.get(end, ("", "")) for end in ends]


def test_the_others_are_canceled(bench: Bench) -> None:
    """Children that are left don't start any more, and reap ends them, even if a worker runs them. They are not
    counted."""
    family = Family(bench, bench.start(), 5, need=1)
    family.spawn()
    first, slow, late = bench.claim(3)
    bench.do(c.Record(fence_of(slow), {c.SPENT: b"spent"}))
    family.complete(first)
    assert bench.state(family.parent) == ("submitted", "ready")
    family.complete(late)
    [parent] = bench.claim(5)
    assert parent.job.id == family.parent
    moved = bench.do(c.Reap(2))
    assert moved.next_due == 0
    assert bench.do(c.Reap()).next_due > 0
    assert sorted(bench.state(job)[0] for job in family.ids) == ["canceled"] * 3 + ["completed"] * 2
    with bench.refused(bp.Canceled):
        family.complete(slow)
    told = {row.state: (row.job_id, row.result) for row in family.outcomes()}
    assert told == {
        "completed": (first.job.id, b"0"),
        "late completed": (late.job.id, b"%d" % late.job.number),  # for what they spent
        "late canceled": (slow.job.id, b"spent"),
    }
    assert bench.job(family.parent).done == 1


@pytest.mark.parametrize("handed_off", [False, True])
def test_what_was_spent_is_told_whatever_ends_a_child(bench: Bench, *, handed_off: bool) -> None:
    """The holder of a child says it at the end. Otherwise its journal does, which after a handoff begins with it."""
    family = Family(bench, bench.start(), 4, spare=4)
    family.spawn()
    canceled, poisoned, failed, rejected = bench.claim(4)
    for each in (canceled, poisoned):
        if handed_off:
            bench.do(c.HandOff(fence_of(each), new_target(), spent=b"spent"))
        else:
            bench.do(c.Record(fence_of(each), {c.SPENT: b"spent"}))
    bench.do(c.Cancel(canceled.job.id))
    if not handed_off:
        bench.do(c.Release(fence_of(poisoned), "it died"))
    while bench.state(poisoned.job.id)[0] != "failed":
        bench.do(c.Release(bench.take_again(poisoned.job.id), "it died"))
    bench.do(c.Fail(fence_of(failed), "boom", "attempts", spent=b"more"))
    bench.do(c.Fail(fence_of(rejected), "no", "rejected", state="rejected"))
    assert [(row.state, row.reason, row.result) for row in family.outcomes()] == [
        ("canceled", "", b"spent"),
        ("failed", "poison", b"spent"),
        ("failed", "attempts", b"more"),
        ("rejected", "rejected", b""),
    ]


def test_how_its_own_children_ended_is_kept_with_a_canceled_child(bench: Bench) -> None:
    """Its parent is told of them: of those that ended before it, and of what those spend that end after it. All of them
    can go on with it."""
    family = Family(bench, bench.start(), 2, spare=2)
    family.spawn()
    middle, other = bench.claim(2)
    below = Family(bench, fence_of(middle), 3, spare=3)
    below.spawn()
    done, running, silent = bench.claim(3)
    below.complete(done)
    bench.do(c.Record(fence_of(running), {c.SPENT: b"spent"}))
    bench.do(c.Cancel(middle.job.id))
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert [(row.state, row.fan) for row in family.outcomes()] == [("canceled", below.fan)]
    told = [(row.job_id, row.state, row.result) for row in below.outcomes()]
    assert told == [
        (done.job.id, "completed", b"0"),
        (running.job.id, "late canceled", b"spent"),
        (silent.job.id, "late canceled", b""),
    ]
    family.complete(other)
    assert [row.fan for row in family.outcomes()] == [below.fan, ""]
    bench.do(c.DeleteJob(middle.job.id))
    assert below.outcomes() == []


def test_so_it_is_with_one_that_is_canceled_as_nobody_waits_for_it(bench: Bench) -> None:
    family = Family(bench, bench.start(), 2, need=1)
    family.spawn()
    middle, other = bench.claim(2)
    below = Family(bench, fence_of(middle), 1)
    below.spawn()
    family.complete(other)
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert [(row.state, row.fan) for row in family.outcomes()] == [("late canceled", below.fan), ("completed", "")]


def test_the_parent_is_canceled(bench: Bench) -> None:
    """Its children end with it, and theirs; nothing of them starts in between."""
    family = Family(bench, bench.start(), 2)
    family.spawn()
    nested = Family(bench, bench.take(), 2)
    nested.spawn()
    bench.do(c.Cancel(family.parent))
    assert (bench.job(family.parent).verdict, bench.state(family.parent)) == ("cut", ("canceled", ""))
    [outer, *_] = bench.claim(5)  # a grandchild: its own parent still waits
    assert outer.job.id in nested.ids
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert {bench.state(job)[0] for job in [*family.ids, *nested.ids]} == {"canceled"}
    assert bench.claim(5) == []
    with bench.refused(bp.Canceled):
        nested.complete(outer)


def test_nested(bench: Bench) -> None:
    family = Family(bench, bench.start(), 2)
    family.spawn()
    nested = Family(bench, bench.take(), 2)
    nested.spawn()
    while deliveries := bench.claim(5):
        for delivery in deliveries:
            family.complete(delivery)
    assert {bench.state(job)[0] for job in [family.parent, *family.ids, *nested.ids]} == {"completed"}
    assert [kind for kind in bench.happened(nested.parent) if "join" in kind] == ["job.joined"]


def test_a_child_that_dies_for_good(bench: Bench) -> None:
    """Poison counts as lost; a lease that runs out before does not."""
    family = Family(bench, bench.start(), 1)
    family.spawn()
    for _ in range(10):
        assert bench.state(family.parent) == ("working", "waiting_children")
        assert bench.take_again(family.ids[0], lease=1).job_id == family.ids[0]
        bench.clock.advance(2)
        bench.do(c.Reap())
    row = bench.job(family.parent)
    assert (row.reason, row.verdict) == ("ready", "broken")


def test_lost_replies(bench: Bench) -> None:
    """Each command said again is answered as the first time, and has happened once."""
    family = Family(bench, bench.start(), 4)
    stages = [c.Stage(family.fence, 0, family.children[2:3]), c.Stage(family.fence, 1, family.children[3:])]
    for stage in [*stages, family.spawning(given=2, records={"fan/fan_out": b"1"})]:
        bench.do(stage)
        with bench.nothing_changes():
            bench.do(stage)
    child = bench.claim(1)[0]
    ending = family.completing(child)
    bench.do(ending)
    with bench.nothing_changes():
        bench.do(ending)
    assert bench.job(family.parent).done == 1


def test_what_completes_too_late(bench: Bench) -> None:
    """A parent that failed, or ended before, may use it when it is redriven. It is not counted. A parent that
    continued, or completed, has no use for it."""
    for spoil in ("broken", "failed", "cut", "met", "canceled", "handed off"):
        family = Family(bench, bench.start(), 3, need=1 if spoil == "met" else 3)
        family.spawn()
        first, late, _ = bench.claim(3)
        if spoil in ("cut", "canceled"):
            bench.do(c.Cancel(family.parent) if spoil == "canceled" else c.Reap())
        if spoil == "met":
            family.complete(first)
        elif spoil != "canceled":
            bench.do(c.Fail(fence_of(first), "boom", "attempts", spent=b"5"))
        parent = bench.take() if spoil != "canceled" else None
        if parent and spoil == "handed off":
            bench.do(c.HandOff(parent, family.children[0].target))
        elif parent and spoil in ("cut", "failed"):
            bench.do(c.Fail(parent, "boom", "children"))
        if spoil == "cut":
            bench.do(c.Redrive(family.parent))
        family.complete(late)
        row, kept = bench.job(family.parent), {"met": [b"0"], "canceled": [], "handed off": []}
        assert [row.result for row in family.outcomes() if LATE not in row.state] == kept.get(spoil, [b"5", b"1"])
        if spoil == "failed":
            bench.do(c.Redrive(family.parent))
        assert (row.done, row.lost) == {"met": (1, 0), "canceled": (0, 0)}.get(spoil, (0, 1))
        if spoil != "canceled":
            bench.do(c.Cancel(family.parent))
        while bench.do(c.Reap()).next_due == 0:
            pass
        assert left_of_fan_outs(bench.harness.dump()) == []


def test_nothing_is_left(bench: Bench) -> None:
    """When the jobs are deleted, nothing is left of them, however their fan-out went."""
    for end in ("+", "b", "cancel", "hand off", "failed"):
        family = Family(bench, bench.start(), 3, need=1 if end == "+" else 3)
        bench.do(c.Stage(family.fence, 0, family.children[2:]))
        family.spawn(given=2)
        if end == "cancel":
            bench.do(c.Cancel(family.parent))
        else:
            family.end(0, "b" if end == "b" else "+")
            if end in ("hand off", "failed"):
                bench.do(c.Reap())
                family.end(1, "+")
                family.end(2, "+")
        while bench.do(c.Reap()).next_due == 0:
            pass
        if end == "hand off":
            bench.do(c.HandOff(bench.take(), family.children[0].target))
        if end != "cancel":
            fence = bench.take()
            bench.do(c.Fail(fence, "boom", "children") if end == "failed" else c.Complete(fence, b"r"))
        if end != "failed":
            assert left_of_fan_outs(bench.harness.dump()) == []
        bench.clock.advance(MINUTE)
        bench.do(c.PruneJobs(0))
        assert bench.do(c.ListJobs(ALL)) == []
        assert left_of_fan_outs(bench.harness.dump()) == []


def test_a_deleted_parent(bench: Bench) -> None:
    """Its children are canceled all the same."""
    family = Family(bench, bench.start(), 2)
    family.spawn()
    bench.do(c.Cancel(family.parent))
    bench.do(c.DeleteJob(family.parent))
    assert bench.claim(5) == []
    assert bench.do(c.Reap()).next_due == -1
    assert {bench.state(job)[0] for job in family.ids} == {"canceled"}
