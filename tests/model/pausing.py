"""Moves with pauses: an agent whose jobs nobody may claim."""

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
