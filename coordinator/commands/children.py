"""Commands about fan-outs: a job that goes on when its children have ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ...contracts.lean import dataclass
from ...contracts.nothing import nothing
from ..rows import Fence, OutcomeRow
from .base import Command, NewCheckpoint
from .jobs import Target

# How many children one command may make.
AT_ONCE = 500
# The journal keys of fan-outs begin with this. Each has the digest of what its children were given, then each time it
# was made ("": enough had completed, so that it need not be made again).
FAN = "fan/"
# Those of fan-outs whose failure ended the job: which one was the last. (Older releases: True, or nothing if it was
# that one.) If there is a later one by now, the job had not ended, because that could not be written.
AGAIN = "again/"
# What they are if the fan-out is made again in any case: a person said so, or the redrive has made another one before.
# (Older releases wait for the next redrive.)
DUE = 2
# Those that say which one a fan-out was when something was recorded that may depend on the loss of its children ("":
# nothing was yet). A redrive does not make that one again. (Older releases don't say.)
ACTED = "acted/"
# With this in front, those fan-outs on whose lost children something depends that is recorded: how they ended does not
# change any more, or a later run would be told something else.
SETTLED = "settled/"


@dataclass(frozen=True, slots=True)
class Child:
    """A child of a fan-out before it is made: its id, its place in the order of the results, and its delivery.

    If there is a job with this id, it becomes the child. If it failed or was canceled, and its thread is free, it is
    retried with this delivery, unless it is at another agent by now. If it has ended otherwise, that counts.
    """

    job_id: str
    number: int
    target: Target


@dataclass(frozen=True, slots=True)
class Stage(Command[None]):
    """Store children for a later `Spawn` of the same lease, behind the `at` that were staged before (0 begins anew).
    Nobody sees them. They are deleted when the job is claimed again, or ends."""

    fence: Fence
    at: int
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Spawn(Command[None]):
    """End this delivery with the fan-out `fan`. Its children become jobs: `children` and the staged ones, `total` in
    all.

    The job waits until `need` of them are done, more than `spare` are lost, or all have ended. Then it is deliverable
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
    """How the children with the numbers `start` to `start + limit` of a fan-out ended, in order, if they did."""

    job_id: str
    fan: str
    start: int = 0
    limit: int = AT_ONCE
