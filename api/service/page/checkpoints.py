"""Checkpoints: one with its state, how that differs from the one before, and the form that forks it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from anyio import to_thread

from batonpass.cli.options import assignment
from batonpass.contracts.checkpoint import Checkpoint
from batonpass.contracts.errors import BatonpassError, Corrupted, Unavailable
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.paths import edited

from ..refusing import BadRequest, problem_of
from .fields import payload
from .questions import Typed
from .words import Shown, shown

_MOST = 300  # lines of a difference


@dataclass(frozen=True)
class CheckpointPage:
    """A checkpoint. `changes` are lines that begin with -, + or ~, or None if there is no parent to compare with. Then
    `apart` says why, unless it is the first. `more` says that there are other changes. `damaged` is what had to be left
    out. `agents` may continue from it, and `key` makes that one job however often the form is sent."""

    found: Checkpoint
    state: Shown
    context: Shown | None
    changes: tuple[str, ...] | None
    more: bool
    apart: str
    damaged: tuple[str, ...]
    agents: tuple[str, ...]
    key: str
    typed: Typed | None


async def one(coordinator: Coordinator, checkpoint_id: str, typed: Typed | None = None) -> CheckpointPage:
    """A checkpoint with its state, or with what is left of it if it is damaged."""
    try:
        found = await coordinator.restore(checkpoint_id)
    except Corrupted:
        found = await coordinator.restore(checkpoint_id, partial=True)
    changes, apart = None, ""
    if found.parent_id:
        try:
            difference = await coordinator.diff(found.parent_id, found)
            changes = tuple(islice(difference.lines(), _MOST + 1))
        except Unavailable:
            raise
        except BatonpassError as error:
            apart = f"It can't be compared with its parent: {problem_of(error).text}"
    return CheckpointPage(
        found,
        await to_thread.run_sync(shown, found.state),  # it may be large
        shown(dict(found.context)) if found.context else None,
        changes[:_MOST] if changes is not None else None,
        len(changes or ()) > _MOST,
        apart,
        found.damaged,
        tuple(agent.name for agent in await coordinator.agents()),
        secrets.token_urlsafe(12),
        typed,
    )


async def fork(coordinator: Coordinator, checkpoint_id: str, typed: Mapping[str, str]) -> str:
    """The id of a new job that continues from a checkpoint, as the form says."""
    if not typed.get("agent"):
        raise BadRequest("choose the agent that continues")
    changes = [assignment(line.strip(), '"hi"') for line in typed.get("changes", "").splitlines() if line.strip()]
    state = edited((await coordinator.restore(checkpoint_id)).state, changes, ()) if changes else None
    job = await coordinator.fork(
        checkpoint_id,
        state=state,
        agent=typed["agent"],
        payload=payload(typed.get("payload", "")),
        key=typed.get("key"),
    )
    return job.id
