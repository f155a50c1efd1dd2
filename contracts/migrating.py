"""Migrations: states that an older version of an agent saved, read as its present version's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from .agent import Agent
from .checkpoint import Checkpoint
from .errors import BadSetup
from .versions import Outdated, raised

Migration: TypeAlias = Callable[[Any], Any]


def migrated(checkpoint: Checkpoint, agent: Agent[Any], steps: Mapping[int, Migration]) -> Checkpoint:
    """The checkpoint with its state as of the agent's `state_version`: one step for each version between.

    What is stored stays as it is. `Outdated` if the state is newer than the agent. `BadSetup` if a step is missing, or
    one fails. One that fails at a state of which parts can't be read may have wanted those: then that stays as stored.
    """
    known = agent.state_version
    if checkpoint.version == known or checkpoint.damaged:
        return checkpoint
    try:
        state = raised(
            checkpoint.state,
            checkpoint.version,
            known,
            steps,
            about=f"checkpoint {checkpoint.id} has a state of version {checkpoint.version} of agent {agent.name!r}",
            write=lambda at: f"@app.migration({agent.name!r}, from_version={at})",
        )
    except Outdated:
        raise
    except BadSetup:
        if not checkpoint.unreadable:
            raise
        return checkpoint
    return replace(checkpoint, state=state, version=known)
