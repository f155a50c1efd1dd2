"""Checkpoint: an immutable, checksummed snapshot of state in a thread, with a parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .listed import Listed
from .nothing import nothing


@dataclass(frozen=True, kw_only=True)
class CheckpointSummary(Listed):
    """A checkpoint without its state, as lists show it.

    - `step_index` counts the thread's checkpoints from 0.
    - `framework_id` is what the framework itself calls it: LangGraph's `checkpoint_id`, if a `BatonpassSaver` saved it.
    - `job` and `hop` are set if a worker saved it under a job.
    - `context` is small user metadata. `version` is the agent's `state_version` when it was saved.
    - Times are the store's, in UTC. `expires_at` is None if it has no ttl. While a checkpoint has a `name`, it is kept.
    - In a copied thread, `copy_of` is the original checkpoint, and `original_at` when its state was first saved.
    - `damaged` names what could not be verified: in a list "record", of which only id and thread are known (and number,
      parent and times, if this client may have another key of the same name), and in a partial restore the values that
      were left out.
    - `unreadable` names what this client can't read. In a list that is "record", if a key is missing: agent, step, job,
      framework and context are then unknown. In a partial restore, it is values that need a missing key, which were
      left out, and values that their classes do not take, each of which is there as a `bp.UnknownValue`.
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
    framework_id: str | None = None
    copy_of: str | None = None
    original_at: datetime | None = None
    damaged: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Checkpoint(CheckpointSummary):
    """A checkpoint with its state.

    `state` holds the user's logical values. `native` is the framework's own bookkeeping: opaque, versioned by its
    adapter, or None.
    """

    state: Any
    native: Any


@dataclass(kw_only=True, slots=True)  # not frozen: one is made with every save
class Snapshot:
    """A checkpoint about to be saved. The store adds the parent, the index and the times.

    Instead of a whole `state`, give what is new relative to the parent's: `changes` (values by key) and `append` (what
    to append to a list, a dict or a text, by key). Saving then costs only what is new.

    `native` may be packed (`codec.Packed`).
    """

    step: str
    state: Any = None
    framework: str = "python"
    native: Any = None
    context: Mapping[str, Any] = field(default_factory=nothing)
    changes: Mapping[str, Any] = field(default_factory=nothing)
    append: Mapping[str, Any] = field(default_factory=nothing)
