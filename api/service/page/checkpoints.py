"""Checkpoints: one with its state, and how that differs from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from batonpass.contracts.checkpoint import Checkpoint
from batonpass.contracts.errors import BatonpassError, Corrupted, Unavailable
from batonpass.coordinator.client import Coordinator

from ..refusing import problem_of
from .words import Shown, shown

_MOST = 300  # lines of a difference


@dataclass(frozen=True)
class CheckpointPage:
    """A checkpoint. `changes` are lines that begin with -, + or ~, or None if there is no parent to compare with. Then
    `apart` says why, unless it is the first. `more` says that there are other changes. `damaged` is what had to be left
    out."""

    found: Checkpoint
    state: Shown
    context: Shown | None
    changes: tuple[str, ...] | None
    more: bool
    apart: str
    damaged: tuple[str, ...]


async def one(coordinator: Coordinator, checkpoint_id: str) -> CheckpointPage:
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
        shown(found.state),
        shown(dict(found.context)) if found.context else None,
        changes[:_MOST] if changes is not None else None,
        len(changes or ()) > _MOST,
        apart,
        found.damaged,
    )
