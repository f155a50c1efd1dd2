"""Large fan-outs: children are staged first, some at a time, and one commit makes them visible."""

from __future__ import annotations

from collections import Counter

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.bench import MINUTE, Bench, fence_of
from tests.harness.children import Family, children_of

ALL = 1000


def test_staged_children_are_nobodys(bench: Bench) -> None:
    """Nobody sees them before the commit; then all are there, made in steps."""
    fence = bench.start()
    family = Family(bench, fence, 6)
    bench.do(c.Stage(fence, 0, family.children[2:]))
    assert bench.claim(9) == []
    assert children_of(bench, fence.job_id) == []
    with bench.refused(bp.Conflict, "4 staged children, not 3"):
        bench.do(c.Stage(fence, 3, family.children[:2]))
    with bench.refused(bp.Conflict, "4 staged children, not 3"):
        bench.do(family.spawning(given=3))
    family.spawn(given=2)
    assert len(bench.claim(9)) == 2
    assert (bench.do(c.Reap(3)).next_due, len(bench.claim(9))) == (0, 3)
    assert (bench.do(c.Reap(3)).moved, len(bench.claim(9))) == (1, 1)
    assert sorted(children_of(bench, fence.job_id)) == sorted(family.ids)


def test_they_are_not_made_if_the_same_look_ends_the_fan_out(bench: Bench) -> None:
    family = Family(bench, bench.start(), 3)
    bench.do(c.Stage(family.fence, 0, family.children[1:]))
    family.spawn(given=1)
    for _ in range(POISON - 1):
        bench.do(c.Release(bench.take_again(family.ids[0]), "it died"))
    bench.take_again(family.ids[0], lease=MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.state(family.ids[0]) == ("failed", "poison")
    assert children_of(bench, family.parent) == family.ids[:1]
    assert bench.job(family.parent).verdict == "broken"


def test_staging_begins_anew(bench: Bench) -> None:
    """If an attempt fans out again, only what it stages now counts, even if it is the same number as before."""
    fence = bench.start()
    given_up, family = Family(bench, fence, 2), Family(bench, fence, 3)
    bench.do(c.Stage(fence, 0, given_up.children))
    bench.do(c.Stage(fence, 0, family.children[1:]))
    family.spawn(given=1)
    bench.do(c.Reap())
    assert children_of(bench, fence.job_id) == family.ids


@pytest.mark.one_partition
def test_a_look_makes_so_many_of_all_parents(bench: Bench) -> None:
    families = [Family(bench, bench.start(), 4) for _ in range(3)]
    for family in families:
        bench.do(c.Stage(family.fence, 0, family.children))
        family.spawn(given=0)
    made: list[int] = []
    while bench.do(c.Reap(3)).next_due == 0:
        made.append(len(bench.claim(ALL)))
    assert sum(made) + len(bench.claim(ALL)) == 12
    assert max(made) == 3


def test_their_threads_are_listed_in_order(bench: Bench) -> None:
    family = Family(bench, bench.start(thread="zz"), 3)
    bench.save(None, thread="a")
    family.spawn()
    bench.save(None, thread="b")
    listed = bench.do(c.Threads())
    assert listed == sorted(["a", "b", "zz", *family.ids])
    assert bench.do(c.Threads(after=listed[1])) == listed[2:]


def test_several_fan_outs_at_once(bench: Bench) -> None:
    """Each look makes, and cancels, so many children of all of them together, and forgets none."""
    families = [Family(bench, bench.start(), 6, need=1) for _ in range(3)]
    for family in families:
        bench.do(c.Stage(family.fence, 0, family.children[1:]))
        family.spawn(given=1)
    while bench.do(c.Reap(4)).next_due == 0:
        continue
    assert [children_of(bench, family.parent) for family in families] == [family.ids for family in families]
    for first in [child for child in bench.claim(ALL) if child.job.number == 0]:
        bench.do(c.Complete(fence_of(first), b"1"))
    while bench.do(c.Reap(4)).next_due == 0:
        continue
    ends = Counter(bench.state(child) for family in families for child in family.ids)
    assert ends == {("completed", ""): 3, ("canceled", ""): 15}


def test_taken_over_while_staging(bench: Bench) -> None:
    """What the dead worker staged is gone, and its zombie is refused; what the next one stages counts."""
    fence = bench.start(lease=1)
    dead = Family(bench, fence, 5)
    bench.do(c.Stage(fence, 0, dead.children[2:]))
    bench.clock.advance(2)
    bench.do(c.Reap())
    family = Family(bench, bench.take(), 3)
    for late in (c.Stage(fence, 3, dead.children[:1]), dead.spawning(given=2)):
        with bench.refused(bp.Fenced):
            bench.do(late)
    with bench.refused(bp.Conflict, "0 staged children"):
        bench.do(family.spawning(given=2))
    bench.do(c.Stage(family.fence, 0, family.children[1:]))
    family.spawn(given=1)
    bench.do(c.Reap())
    assert sorted(children_of(bench, family.parent)) == sorted(family.ids)


def test_decided_before_all_are_made(bench: Bench) -> None:
    """Children that were staged and are not needed any more never are."""
    family = Family(bench, bench.start(), 9, need=1)
    bench.do(c.Stage(family.fence, 0, family.children[2:]))
    family.spawn(given=2)
    family.complete(bench.claim()[0])
    while bench.do(c.Reap()).next_due == 0:
        pass
    assert children_of(bench, family.parent) == family.ids[:2]
    assert bench.state(family.ids[1]) == ("canceled", "")
