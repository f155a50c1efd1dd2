"""Checkpoint: an immutable, checksummed snapshot of state in a thread, with a parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .nothing import nothing


@dataclass(frozen=True, kw_only=True)
class CheckpointSummary:
    """What lists show of a checkpoint: everything but its state.

    `step_index` counts the thread's checkpoints from 0. `job` and `hop` are set when a worker saved it under a job.
    `context` is small user metadata. Times are the store's, in UTC; `expires_at` is None when it is kept. One that has
    a `name` is kept, too, until that is taken away. `version` is that of the state, as its agent declared it. In a
    copied thread `copy_of` is the checkpoint that this is a copy of, and `original_at` when its state was first saved.

    `damaged` names what is not what was saved: "record" in a list, of which nothing but id and thread are known then,
    and in a partial restore the values that had to be left out. `unreadable` names what is kept with a key that this
    client lacks: "record" in a list, of which agent, step, job, framework and context are not known then.
    """

    id: str
    thread: str
    agent: str
    step: str
    step_index: int
    framework: str
    parent_id: str | None
    job: str | None
    hop: int | None
    context: Mapping[str, Any]
    created_at: datetime
    expires_at: datetime | None
    name: str | None = None
    version: int = 1
    copy_of: str | None = None
    original_at: datetime | None = None
    damaged: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Checkpoint(CheckpointSummary):
    """A checkpoint with its state.

    `state` holds the user's logical values. `native` is the framework's own bookkeeping: opaque, versioned by its
    adapter, None where there is none.
    """

    state: Any
    native: Any


@dataclass(kw_only=True, slots=True)  # not frozen: one is made with every save
class Snapshot:
    """A checkpoint about to be saved: what its maker knows. The store adds the parent, the index and the times.

    Instead of a whole `state`: what is new in the parent's, `changes` (values by key) and `append` (what continues a
    list, a dict or a text, by key). Saving then costs what is new, however large the state is.

    `native` may be packed (`codec.Packed`).
    """

    step: str
    state: Any = None
    framework: str = "python"
    native: Any = None
    context: Mapping[str, Any] = field(default_factory=nothing)
    changes: Mapping[str, Any] = field(default_factory=nothing)
    append: Mapping[str, Any] = field(default_factory=nothing)
