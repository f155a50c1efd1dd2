"""Moves with fan-outs: a job that waits for its children."""

from __future__ import annotations

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.children import new_children
from tests.model.items import WEIGHTED
from tests.model.moves import maybe_new, move
from tests.model.world import AGENTS, Picks, World

__all__ = ["WEIGHTED"]  # these moves among all


@move(2, holders=True)
def stage(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    staged = world.staged.get(fence, ()) if pick.below(3) else ()
    children = _children(world, pick, fence, len(staged), pick.below(3) + 1)
    world.staged[fence] = (*staged, *children)
    world.say(c.Stage(fence, len(staged), children))


@move(4, holders=True)
def spawn(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    staged = world.staged.get(fence, ())
    children = _children(world, pick, fence, len(staged), pick.below(3) + (0 if staged else 1))
    total = len(staged) + len(children) + pick.one_in(8)
    need, spare = pick.below(total) + 1, pick.of([0, 0, 1, total])
    records = {"fan": b"%d" % pick.below(4)}
    world.say(c.Spawn(fence, mint("f"), total, need, spare, children, maybe_new(world, pick, fence), records))


@move(3)
def look_at_outcomes(world: World, pick: Picks) -> None:
    waiting = [row for row in world.rows if row.fan]
    if waiting:
        row = pick.of(waiting)
        world.ask(c.ReadOutcomes(row.id, row.fan, pick.below(2), pick.of([1, 500])))


def _children(world: World, pick: Picks, fence: c.Fence, first: int, count: int) -> tuple[c.Child, ...]:
    """New ones, or those that the job had in another fan-out."""
    there = {row.number: row.id for row in world.rows if row.parent == fence.job_id} if pick.one_in(2) else {}
    made = new_children(fence.job_id, count, agent=pick.of(AGENTS))
    world.jobs += [child.job_id for child in made]
    numbered = ((first + child.number, child) for child in made)
    return tuple(c.Child(there.get(number, child.job_id), number, child.target) for number, child in numbered)
