"""Commands about whole threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..rows import CheckpointRow, CommitLine
from .base import Command, NewCheckpoint


@dataclass(frozen=True, slots=True)
class Threads(Command[list[str]]):
    """Names of threads in the order of their characters; `after` pages (a name)."""

    limit: int = 500
    after: str = ""


@dataclass(frozen=True, slots=True)
class Export(Command[list[CheckpointRow]]):
    """A thread's checkpoints from a step index on, oldest first, with all that they hold but what lies in logs."""

    thread: str
    start: int = 0
    limit: int = 100


@dataclass(slots=True)  # as NewCheckpoint
class Import(Command[list[CommitLine]]):
    """Commit checkpoints to a thread in order, with parents as they are given, wherever those are.

    Refused unless the thread had exactly `count` checkpoints so far. The same again answers what the first time did.
    """

    thread: str
    count: int
    checkpoints: Sequence[NewCheckpoint]
    parents: Sequence[str]


@dataclass(frozen=True, slots=True)
class Freed:
    """What one command freed (checkpoints, or jobs), and where to go on; `next` is -1 when all was looked at."""

    count: int
    next: int = -1


@dataclass(frozen=True, slots=True)
class Prune(Command[Freed]):
    """Free a thread's checkpoints that are not among its `keep_last` newest and were saved `older_than` ms ago.

    `limit` are looked at, from the step index `start` on. What a job would resume from stays, and what has a name if
    `keep_named`. A thread that has no checkpoint and no job any more is forgotten.
    """

    thread: str
    keep_last: int = 0
    older_than: int = 0
    keep_named: bool = True
    start: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class DeleteThread(Command[Freed]):
    """Free `limit` of a thread's checkpoints, then its ended jobs, then forget it: `next` is -1 then."""

    thread: str
    limit: int = 100
