"""Commands about whole threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...contracts.lean import dataclass
from ..rows import CheckpointRow, CommitLine
from .base import Command, NewCheckpoint


@dataclass(frozen=True, slots=True)
class Threads(Command[list[str]]):
    """Names of threads in the order of their characters, those after `after`."""

    limit: int = 500
    after: str = ""


# How many checkpoints an `Export` looks at. (Its page may have fewer, because expired ones are left out.)
LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Export(Command[list[CheckpointRow]]):
    """A thread's checkpoints from a step index on, oldest first, with everything except what is in logs."""

    thread: str
    start: int = 0
    limit: int = 100


class Stamp(NamedTuple):
    """What a checkpoint has from where it was committed first: its step index, when that was, and its name."""

    step_index: int
    created: int
    name: str


@dataclass(slots=True)  # as NewCheckpoint
class Import(Command[list[CommitLine]]):
    """Commit checkpoints to a thread in order, with the given parents, wherever those are.

    Refused unless the thread has had exactly `count` checkpoints. The same again returns what the first time did. With
    `stamps` they are committed as they were elsewhere, and that is no event.
    """

    thread: str
    count: int
    checkpoints: Sequence[NewCheckpoint]
    parents: Sequence[str]
    stamps: Sequence[Stamp] = ()


@dataclass(frozen=True, slots=True)
class Freed:
    """How many checkpoints or jobs one command freed, and where to go on; `next` is -1 when everything was looked
    at."""

    count: int
    next: int = -1


@dataclass(frozen=True, slots=True)
class Prune(Command[Freed]):
    """Free a thread's checkpoints that are not among its `keep_last` newest and were saved `older_than` ms ago.

    Looks at `limit` of them, or at fewer if they have many spans, from step `start` on. Four kinds stay: what
    a job would resume from, what has a name if `keep_named`, what has a place, because its framework may need more
    than the newest, and those in `kept`. A thread without checkpoints and jobs is deleted.
    """

    thread: str
    keep_last: int = 0
    older_than: int = 0
    keep_named: bool = True
    start: int = 0
    limit: int = 100
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteThread(Command[Freed]):
    """Free `limit` of a thread's checkpoints, or fewer if they have many spans, then its ended jobs, then delete it.
    Then `next` is -1. With `placed`, free only what is at places, and delete the thread if nothing else is left."""

    thread: str
    limit: int = 100
    placed: bool = False
