"""Moves with what jobs wait for: an agent whose jobs nobody may claim, and places in a lane."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from tests.model.children import WEIGHTED
from tests.model.moves import move
from tests.model.world import AGENTS, QUEUES, Picks, World

__all__ = ["WEIGHTED"]  # these moves among all


@move(3)
def pause_or_resume(world: World, pick: Picks) -> None:
    """Resumed more often than paused, because little happens meanwhile."""
    agent = pick.of(AGENTS)
    if pick.below(3):
        world.say(c.ResumeAgent(agent, tuple(QUEUES)))
    else:
        world.say(c.PauseAgent(agent, pick.of(["", "no model"])))
    world.ask(c.Pauses())


@move(1)
def look_at_a_line(world: World, pick: Picks) -> None:
    if world.rows:
        world.ask(c.ReadTurns(pick.of(world.rows).thread, pick.below(4) + 1))


@move(1)
def look_at_a_lane(world: World, pick: Picks) -> None:
    waiting = [row for row in world.rows if row.lane]
    if waiting:
        row = pick.of(waiting)
        world.ask(c.ReadLane(row.id, row.lane, pick.below(4) + 1))
