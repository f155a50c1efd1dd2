"""Commands about single checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ...contracts.lean import dataclass
from ...contracts.nothing import nothing
from ..rows import CheckpointRow, CommitLine, Fence
from .base import Command, NewCheckpoint


@dataclass(slots=True)  # as NewCheckpoint
class Save(Command[CommitLine]):
    """Commit a checkpoint and journal records.

    With a fence, the parent is the job's last checkpoint. Without one, it is the thread's tip; if `parent` is given, it
    must be that tip, unless `branch`.
    """

    thread: str
    checkpoint: NewCheckpoint
    fence: Fence | None = None
    parent: str = ""
    branch: bool = False
    records: Mapping[str, bytes] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class Expire(Command[None]):
    """Delete one checkpoint; its neighbours stay."""

    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Restore(Command[CheckpointRow]):
    """One checkpoint with its state."""

    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Latest(Command[CheckpointRow | None]):
    """The thread's tip with its state, or None."""

    thread: str


@dataclass(frozen=True, slots=True)
class Timeline(Command[list[CheckpointRow]]):
    """The thread's checkpoints without their state, newest first, those before the checkpoint `before`. `named`: only
    those with a name."""

    thread: str
    limit: int = 50
    before: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True)
class Ancestors(Command[list[CheckpointRow]]):
    """A checkpoint and its ancestors, nearest first, without their state, as far as they exist."""

    checkpoint_id: str
    limit: int = 200


@dataclass(frozen=True, slots=True)
class Name(Command[None]):
    """Name a checkpoint, uniquely in its thread; "" removes its name. A named one does not expire."""

    checkpoint_id: str
    name: str


@dataclass(frozen=True, slots=True)
class FindName(Command[str]):
    """The checkpoint with a name in a thread."""

    thread: str
    name: str
