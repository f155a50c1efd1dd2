"""Children that failed and are redriven, and parents that are redriven because children failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Delivery
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.children import Family, children_of, left_of_fan_outs


def test_redriving(bench: Bench) -> None:
    """A lost child runs on its own then; a parent that broke on its children may fan out again, its journal is kept."""
    family = Family(bench, bench.start(), 2, spare=0)
    family.spawn(records={"fan/fan_out": b"1"})
    family.end(0, "b")
    bench.do(c.Reap())
    bench.do(c.Redrive(family.ids[0]))
    parent, child = sorted(bench.claim(2), key=lambda delivery: delivery.job.id != family.parent)
    assert (child.job.id, child.job.parent, child.job.brood) == (family.ids[0], family.parent, "")
    family.complete(child)
    assert [row.state for row in family.outcomes()] == ["failed", "late canceled"]
    bench.do(c.Fail(family.fence_of(parent), "lost", "children"))
    bench.do(c.Redrive(family.parent))
    [again] = bench.claim()
    assert (again.job.verdict, dict(again.journal)) == ("cut", {"fan/fan_out": b"1"})
    second = Family(bench, family.fence_of(again), 1)
    second.spawn()
    second.end(0, "+")
    assert bench.job(family.parent).verdict == "met"


def _taken(bench: Bench, how: str) -> None:
    """The job waits in line since its children failed, or nobody answered. What a run did since, if one did."""
    if how == "run":
        bench.take(lease=99 * MINUTE)
    elif how == "given back":
        bench.do(c.Release(bench.take()))
    elif how == "lost":
        bench.take(lease=1)
        bench.clock.advance(1000)
        bench.do(c.Reap())
    elif how == "tried again":
        bench.do(c.Fail(bench.take(), "boom", "attempts", retry_in=1))
        bench.clock.advance(1000)
        bench.do(c.Reap())


_TAKEN = ["", "run", "given back", "lost", "tried again"]


@pytest.mark.parametrize("taken", _TAKEN)
@pytest.mark.parametrize("how", ["canceled", "deadline"])
def test_what_ended_while_it_waited_in_line_is_tried_again(how: str, taken: str, bench: Bench) -> None:
    """If no run has acted on it. One redrive ran on the recorded failure, and only a second one tried that again."""
    family = Family(bench, bench.start(terms=c.Terms(within=9 * MINUTE)), 1)
    family.spawn()
    family.end(0, "b")
    assert bench.job(family.parent).verdict == "broken"
    _taken(bench, taken)
    if how == "canceled":
        bench.do(c.Cancel(family.parent))
    else:
        bench.clock.advance(10 * MINUTE)
        bench.do(c.Reap())
    row = bench.job(family.parent)
    assert (row.state, row.verdict) == ("failed" if how == "deadline" else how, "broken" if taken else "cut")


@pytest.mark.parametrize("taken", _TAKEN)
@pytest.mark.parametrize("how", ["canceled", "deadline"])
def test_so_is_a_question_that_nobody_answered(how: str, taken: str, bench: Bench) -> None:
    fence = bench.start(terms=c.Terms(within=9 * MINUTE))
    bench.do(c.Suspend(fence, b"sure?", timeout=MINUTE))
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())
    assert bench.job(fence.job_id).answered.endswith(" timeout")
    _taken(bench, taken)
    if how == "canceled":
        bench.do(c.Cancel(fence.job_id))
    else:
        bench.clock.advance(10 * MINUTE)
        bench.do(c.Reap())
    row = bench.job(fence.job_id)
    assert (row.state, row.answered != "") == ("failed" if how == "deadline" else how, bool(taken))


def test_a_child_that_is_redriven_is_made_good(bench: Bench) -> None:
    """Its result counts for a parent that failed because of it, once that is redriven. It does not count for a parent
    that was told of the loss and continued, which would find another result at its next replay."""
    for parent, told in {
        "failed": "completed",
        "redriven": "completed",
        "goes on": "failed",
        "gave up": "failed",
        "acted on it": "failed",
    }.items():
        family = Family(bench, bench.start(), 2)
        family.spawn()
        family.end(0, "b")
        if parent != "goes on":
            fence = bench.take()
            if parent == "acted on it":
                bench.do(c.Record(fence, {c.SETTLED + family.fan: b"1"}))
            bench.do(c.Fail(fence, "lost", "attempts" if parent == "gave up" else "children"))
        if parent == "redriven":
            bench.do(c.Redrive(family.parent))
        bench.do(c.Redrive(family.ids[0]))
        claimed = {delivery.job.id: delivery for delivery in bench.claim(3)}
        family.complete(claimed[family.ids[0]])
        row = bench.job(family.parent)
        first = family.outcomes()[0]
        assert (first.state, bool(first.error)) == (told, told == "failed"), parent
        assert first.result == (b"0" if told == "completed" else b"")
        assert (row.verdict, row.done, row.lost) == ("cut" if parent == "redriven" else "broken", 0, 1)
        if parent in ("failed", "gave up", "acted on it"):
            bench.do(c.Redrive(family.parent))
            assert bench.job(family.parent).verdict == ("broken" if parent == "gave up" else "cut")
        bench.do(c.Cancel(family.parent))
        while bench.do(c.Reap()).next_due == 0:
            pass
        assert left_of_fan_outs(bench.harness.dump()) == []


@pytest.mark.parametrize("reason", ["children", "attempts"])
def test_so_is_one_that_was_tolerated_if_its_parent_failed_over_it_after_all(reason: str, bench: Bench) -> None:
    """It may ask again for one that was canceled, too. If it failed otherwise, it is told the same again, unless a
    person has it ask again."""
    open_ = reason == "children"
    family = Family(bench, bench.start(), 3, spare=3)
    family.spawn()
    for _ in range(2):
        fence = bench.take()
        bench.do(c.Record(fence, {"step/a": b"1"}))
        bench.do(c.Fail(fence, "b", "attempts"))
    family.end(2, "+")
    assert bench.job(family.parent).verdict == "met"
    bench.do(c.Fail(bench.take(), "lost", reason))
    for number in (0, 1):
        bench.do(c.Redrive(family.ids[number]))
    claimed = {delivery.job.id: delivery for delivery in bench.claim(2)}
    family.complete(claimed[family.ids[0]])
    bench.do(c.Cancel(family.ids[1]))
    assert [row.state for row in family.outcomes()] == ["completed" if open_ else "failed", "failed", "completed"]
    assert dict(bench.do(c.ReadKept(family.ids[1])).journal) == {"step/a": b"1"}
    bench.do(c.Redrive(family.parent))
    assert bench.job(family.parent).verdict == ("cut" if open_ else "met")


def redriven(bench: Bench, need: int) -> tuple[Family, dict[str, Delivery]]:
    """A family of three whose parent waits; the first child failed and was redriven. All three are claimed."""
    family = Family(bench, bench.start(), 3, need=need, spare=1)
    family.spawn()
    family.end(0, "b")
    assert bench.job(family.parent).lost == 1
    bench.do(c.Redrive(family.ids[0]))
    assert (bench.job(family.parent).lost, bench.job(family.ids[0]).brood) == (0, family.fan)
    return family, {delivery.job.id: delivery for delivery in bench.claim(3)}


@pytest.mark.parametrize("ending", ["completed", "failed"])
def test_a_parent_that_still_waits_waits_again_for_a_child_that_is_redriven(bench: Bench, ending: str) -> None:
    family, claimed = redriven(bench, need=3)
    for other in family.ids[1:]:
        family.complete(claimed[other])
    assert bench.state(family.parent) == ("working", "waiting_children")
    if ending == "completed":
        family.complete(claimed[family.ids[0]])
    else:
        bench.do(c.Fail(family.fence_of(claimed[family.ids[0]]), "boom", "attempts"))
    row = bench.job(family.parent)
    assert (row.state, row.verdict, row.done, row.lost) == (
        "submitted",
        "met",
        2 + (ending == "completed"),
        ending == "failed",
    )
    assert [row.state for row in family.outcomes()] == [ending, "completed", "completed"]


def test_the_failure_of_a_child_that_is_redriven_is_none_of_those_that_count(bench: Bench) -> None:
    """What it spent counts. (Three fail or complete, one may fail: the redriven one is not among them.)"""
    family, claimed = redriven(bench, need=1)
    bench.do(c.Fail(family.fence_of(claimed[family.ids[1]]), "boom", "attempts"))
    family.complete(claimed[family.ids[2]])
    row = bench.job(family.parent)
    assert (row.verdict, row.done, row.lost) == ("met", 1, 1)
    assert [row.state for row in family.outcomes()] == ["late failed", "failed", "completed"]


@pytest.mark.parametrize("ending", ["canceled", "submitted"])
def test_a_child_that_is_redriven_is_canceled_when_nobody_waits_for_it_any_more(bench: Bench, ending: str) -> None:
    """Its parent is canceled, or has enough others."""
    family, claimed = redriven(bench, need=1)
    if ending == "canceled":
        bench.do(c.Cancel(family.parent))
    else:
        family.complete(claimed[family.ids[1]])
    bench.do(c.Reap())
    assert bench.job(family.parent).state == ending
    assert bench.job(family.ids[0]).state == "canceled"
    bench.do(c.Cancel(family.parent))
    assert left_of_fan_outs(bench.harness.dump()) == []


def test_a_child_that_is_redriven_is_none_of_a_later_fan_out(bench: Bench) -> None:
    """Whose children have the same numbers."""
    family = Family(bench, bench.start(), 1)
    family.spawn()
    family.end(0, "b")
    bench.do(c.Fail(bench.take(), "lost", "children"))
    bench.do(c.Redrive(family.parent))
    later = Family(bench, bench.take(), 2, spare=1)
    later.spawn()
    later.end(0, "b")
    bench.do(c.Redrive(family.ids[0]))
    [child] = [delivery for delivery in bench.claim(2) if delivery.job.id == family.ids[0]]
    family.complete(child)
    assert [(row.job_id, row.state) for row in later.outcomes()] == [(later.ids[0], "failed")]
    assert (bench.job(family.parent).done, bench.job(family.parent).lost) == (0, 1)


def test_a_child_that_is_redriven_leaves_nothing_at_a_parent_that_went_on(bench: Bench) -> None:
    """With what is left of the fan-out, at its next agent."""
    family = Family(bench, bench.start(), 1, spare=1)
    family.spawn()
    family.end(0, "b")
    bench.do(c.HandOff(bench.take(), new_target("review")))
    bench.do(c.Redrive(family.ids[0]))
    bench.do(c.Complete(bench.take(), b"0"))
    assert left_of_fan_outs(bench.harness.dump()) == []


def there(bench: Bench, how: str) -> tuple[Family, Family]:
    """A parent that failed and was redriven because of its first child, which has gone `how` since then. It is just
    asking for this child again, and for another. The child has recorded a step."""
    first = Family(bench, bench.start(), 1)
    first.spawn()
    [child] = first.ids
    held = bench.take()
    bench.do(c.Record(held, {"step/a": b"1"}))
    bench.do(c.Cancel(child) if how == "canceled" else c.Fail(held, "boom", "attempts"))
    bench.do(c.Fail(bench.take(), "lost", "children"))
    if how not in ("failed", "canceled"):
        bench.do(c.Redrive(child))
    if how == "redriven and canceled":
        bench.do(c.Cancel(child))
    if how in ("working", "completed", "rejected"):
        held = bench.take()
        if how == "completed":
            bench.do(c.Complete(held, b"0"))
        elif how == "rejected":
            bench.do(c.Fail(held, "boom", "no", state="rejected"))
    bench.do(c.Redrive(first.parent))
    parent = next(each for each in bench.claim(2) if each.job.id == first.parent)
    second = Family(bench, first.fence_of(parent), 2)
    second.children = (replace(second.children[0], job_id=child), second.children[1])
    second.ids[0] = child
    return first, second


@pytest.mark.parametrize("given", [2, 0])
@pytest.mark.parametrize("how", ["failed", "canceled", "redriven and canceled", "ready", "working"])
def test_a_child_that_is_there_goes_on(bench: Bench, how: str, given: int) -> None:
    first, second = there(bench, how)
    if not given:
        bench.do(c.Stage(second.fence, 0, second.children))
    second.spawn(given=given)
    bench.do(c.Reap())
    child = bench.job(second.ids[0])
    assert child.brood == second.fan
    assert children_of(bench, first.parent) == second.ids
    if how in ("failed", "canceled", "redriven and canceled"):
        again = next(each for each in bench.claim(2) if each.job.id == child.id)
        assert (again.job.attempt, dict(again.journal)) == (1, {"step/a": b"1"})
    bench.do(c.Cancel(first.parent))
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert [bench.state(each)[0] for each in second.ids] == ["canceled"] * 2
    assert left_of_fan_outs(bench.harness.dump()) == []
    assert [dict(bench.do(c.ReadKept(each)).journal) for each in second.ids] == [{}, {}]


@pytest.mark.parametrize("given", [2, 0])
@pytest.mark.parametrize(("how", "verdict"), [("completed", "met"), ("rejected", "broken")])
def test_a_child_that_is_there_and_has_ended_counts(bench: Bench, how: str, verdict: str, given: int) -> None:
    first, second = there(bench, how)
    second.need = 1
    if not given:
        bench.do(c.Stage(second.fence, 0, second.children))
    second.spawn(given=given)
    bench.do(c.Reap())
    assert bench.job(first.parent).verdict == verdict
    assert [row.state for row in second.outcomes()][:1] == [how]
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert bench.state(second.ids[1])[0] == "canceled"


def test_a_child_whose_thread_another_job_has_taken_counts_as_lost(bench: Bench) -> None:
    first, second = there(bench, "failed")
    bench.submit(thread=first.ids[0])
    second.spawn()
    assert [row.state for row in second.outcomes()] == ["failed"]
    assert (bench.state(first.ids[0])[0], bench.job(first.parent).verdict) == ("failed", "broken")


def test_a_child_that_was_awaited_again_is_not_canceled_for_the_fan_out_of_before(bench: Bench) -> None:
    """Its parent asks for it again while the children of that one are still to be canceled."""
    first, claimed = redriven(bench, need=3)
    for other in first.ids[1:]:
        bench.do(c.Fail(first.fence_of(claimed[other]), "boom", "attempts"))
    bench.do(c.Fail(bench.take(), "lost", "children"))
    bench.do(c.Redrive(first.parent))
    second = Family(bench, bench.take(), 1)
    second.children = (replace(second.children[0], job_id=first.ids[0]),)
    second.spawn()
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert bench.state(first.ids[0])[0] == "working"
    bench.do(c.Complete(first.fence_of(claimed[first.ids[0]]), b"0"))
    assert bench.job(first.parent).verdict == "met"


def test_a_child_from_another_store_goes_on(bench: Bench) -> None:
    """It is the first one, and its number 0 is told to its parent."""
    first, second = there(bench, "failed")
    bench.do(c.Fail(second.fence, "lost", "children"))
    for job in (first.parent, first.ids[0]):
        kept = bench.do(c.ReadKept(job))
        bench.do(c.DeleteThread(job))
        bench.do(c.Adopt(replace(kept, job=replace(kept.job, brood=""))))
    bench.do(c.Redrive(first.parent))
    second.fence = bench.take()
    second.spawn()
    for each in bench.claim(2):
        second.complete(each)
    assert bench.job(first.parent).verdict == "met"
    assert [row.state for row in second.outcomes()] == ["completed"] * 2
