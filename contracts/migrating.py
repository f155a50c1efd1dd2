"""Migrations: states that an older version of an agent saved, read as its present version's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from .agent import Agent
from .checkpoint import Checkpoint
from .errors import BadSetup

Migration: TypeAlias = Callable[[Any], Any]


def migrated(checkpoint: Checkpoint, agent: Agent[Any], steps: Mapping[int, Migration]) -> Checkpoint:
    """The checkpoint with its state as of the agent's `state_version`: one step for each version between.

    What is stored stays as it is. `BadSetup` if the state is newer than the agent, a step is missing, or one fails.
    """
    state, known = checkpoint.state, agent.state_version
    if checkpoint.version == known or checkpoint.damaged:
        return checkpoint
    about = f"checkpoint {checkpoint.id} has a state of version {checkpoint.version} of agent {agent.name!r}"
    if checkpoint.version > known:
        raise BadSetup(f"{about}, but only versions up to {known} are known here: this program is older, update it")
    for version in range(checkpoint.version, known):
        step = steps.get(version)
        if step is None:
            raise BadSetup(f"{about}: write @app.migration({agent.name!r}, from_version={version})")
        try:
            state = step(state)
        except Exception as error:
            raise BadSetup(f"{about}: the migration from version {version} failed: {_told(error)}") from error
    return replace(checkpoint, state=state, version=known)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
