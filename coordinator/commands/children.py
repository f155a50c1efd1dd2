"""Commands about fan-outs: a job that goes on when its children have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...contracts.nothing import nothing
from ..rows import OutcomeRow
from .base import Command, Fence, NewCheckpoint
from .jobs import Target

# Children that one command makes, at most.
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Child:
    """A job of a fan-out before it is made: its id, its place in the order of the results, and its delivery."""

    job_id: str
    number: int
    target: Target


@dataclass(frozen=True, slots=True)
class Stage(Command[None]):
    """Put children by for the `Spawn` of the same lease, behind the `at` that were staged before; with 0 it begins
    anew. Nobody sees them. They are forgotten when the job is claimed again, or ends."""

    fence: Fence
    at: int
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Spawn(Command[None]):
    """End this delivery with the fan-out `fan`: `children`, and those that were staged, are jobs from now on, `total`
    in all.

    The job waits until `need` of them are done, more than `spare` are lost, or all have ended; then it is deliverable
    again, once. `records` are added to its journal.
    """

    fence: Fence
    fan: str
    total: int
    need: int
    spare: int
    children: tuple[Child, ...]
    checkpoint: NewCheckpoint | None = None
    records: Mapping[str, bytes] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class ReadOutcomes(Command[list[OutcomeRow]]):
    """How the children `start` to `start + limit` of a fan-out ended, in order; those that did not are left out."""

    job_id: str
    fan: str
    start: int = 0
    limit: int = AT_ONCE
