"""The operations as values: what a store is asked, and what it answers.

A command is carried out atomically, in one round trip. Its answer is its class's type argument. All are plain data,
so that building and reading them is shared by every store, sync and async. Durations are milliseconds; a store
adds its own clock's now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .parts.spans import Append
from .rows import CheckpointRow, CommitLine, Delivery, EventRow, JobRow

R = TypeVar("R", covariant=True)


class Command(Generic[R]):
    """One operation, answered with an R."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Fence:
    """Proof of ownership: the lease under which a worker writes."""

    job_id: str
    token: int
    lease_id: str


# Not frozen, as the others are, because one is made with every save: freezing costs more than packing a small state.
@dataclass(slots=True)
class NewCheckpoint:
    """A checkpoint as its maker knows it. `header` holds the hashes of `state`, `native` and of its parts.

    `spans` says where its parts lie in logs (parts/spans.py). `appends` are the bytes that are new there. What the
    others hold must be kept by the checkpoint `base`: if that is gone, or a log has another length than an append
    expects, the command is refused as `Ungrounded` and nothing is written.
    """

    id: str
    thread: str
    header: bytes
    state: bytes
    native: bytes
    agent: str
    step: str
    ttl: int = 0
    spans: str = ""
    base: str = ""
    appends: Sequence[Append] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """Where a delivery goes, and what with. `queue` is the digest of agent, contract and version, and band."""

    agent: str
    contract: str
    queue: str
    envelope: bytes


@dataclass(slots=True)  # as NewCheckpoint
class Submit(Command[JobRow]):
    """Make a job and its first delivery. `origin` is the checkpoint that it goes on from ("" for none)."""

    job_id: str
    thread: str
    target: Target
    key: str = ""
    idem: str = ""
    payload_digest: str = ""
    key_ttl: int = 86_400_000
    delay: int = 0
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Claim(Command[list[Delivery]]):
    """Lease up to len(leases) ready deliveries. `queues` are (queue, lease duration), tried in order."""

    worker: str
    queues: tuple[tuple[str, int], ...]
    leases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heartbeat(Command[list[str]]):
    """Renew leases, each for its duration. Answers "" (held), "lost" or "canceled" for each."""

    leases: tuple[tuple[Fence, int], ...]


@dataclass(slots=True)  # as NewCheckpoint
class Save(Command[CommitLine]):
    """Commit a checkpoint and journal records.

    With a fence the parent is the job's last checkpoint. Without, it is the thread's tip, and `parent`, if given,
    must be that tip unless `branch`.
    """

    thread: str
    checkpoint: NewCheckpoint
    fence: Fence | None = None
    parent: str = ""
    branch: bool = False
    records: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True, slots=True)
class Record(Command[None]):
    """Commit journal records without a checkpoint."""

    fence: Fence
    records: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class HandOff(Command[None]):
    """End this delivery and make the next one, for another agent, with the last checkpoint."""

    fence: Fence
    target: Target
    checkpoint: NewCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class Complete(Command[None]):
    """End the job with its result."""

    fence: Fence
    result: bytes
    checkpoint: NewCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class Fail(Command[None]):
    """End this delivery without a result: tried again after `retry_in`, or, if that is None, ended for good."""

    fence: Fence
    error: str
    reason: str
    retry_in: int | None = None
    state: str = "failed"


@dataclass(frozen=True, slots=True)
class Suspend(Command[None]):
    """End this delivery with a question; the job waits for its answer."""

    fence: Fence
    question: bytes
    checkpoint: NewCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class Release(Command[None]):
    """Give a delivery back, unfinished: another worker goes on from its last checkpoint."""

    fence: Fence


@dataclass(frozen=True, slots=True)
class AnswerJob(Command[None]):
    """Answer a suspended job's question: it becomes deliverable again."""

    job_id: str
    answer: bytes


@dataclass(frozen=True, slots=True)
class Cancel(Command[bool]):
    """End a job from outside. False if it was ended already."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Expire(Command[None]):
    """Delete one checkpoint; its neighbours stay."""

    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class Reaped:
    """What `Reap` did: deliveries made ready again, and in how many ms the next lease or timer is due (-1: none).

    `queues` are those of the deliveries, told only by a store whose workers wait at another place.
    """

    moved: int
    next_due: int
    queues: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Reap(Command[Reaped]):
    """Take back expired leases, make due timers ready, free expired checkpoints: at most `limit` of each.

    Also notes for `presence` ms that `worker` takes from `queues`.
    """

    limit: int = 100
    worker: str = ""
    queues: tuple[str, ...] = ()
    presence: int = 0


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
    """The thread's checkpoints without their state, newest first; `before` pages (a checkpoint's id). `named`: only
    those that have a name."""

    thread: str
    limit: int = 50
    before: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True)
class Ancestors(Command[list[CheckpointRow]]):
    """A checkpoint and those that it came from, nearest first, without their state, as far as they are there."""

    checkpoint_id: str
    limit: int = 200


@dataclass(frozen=True, slots=True)
class Name(Command[None]):
    """Name a checkpoint, uniquely in its thread; "" takes its name away. A named one does not expire."""

    checkpoint_id: str
    name: str


@dataclass(frozen=True, slots=True)
class FindName(Command[str]):
    """The checkpoint that has a name in a thread."""

    thread: str
    name: str


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
    limit: int = 500


@dataclass(frozen=True, slots=True)
class DeleteThread(Command[Freed]):
    """Free `limit` of a thread's checkpoints, then its ended jobs, then forget it: `next` is -1 then."""

    thread: str
    limit: int = 500


@dataclass(frozen=True, slots=True)
class DeleteJob(Command[None]):
    """Forget an ended job and its idempotency key, and its thread if nothing is left of that."""

    job_id: str


@dataclass(frozen=True, slots=True)
class PruneJobs(Command[Freed]):
    """Delete jobs that ended `older_than` ms ago, each with its own thread; what they left on others' threads stays.

    Looks at jobs from number `start` on, oldest first, and frees about `limit` jobs and checkpoints.
    """

    older_than: int
    start: int = 0
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Events(Command[list[EventRow]]):
    """Events after a position, oldest first; of one subject only, if given. `after` "" is the beginning.

    At most `limit` are looked at. The last row returned may be of another subject: it carries the position only.
    """

    after: str = ""
    subject: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class LastEvent(Command[str]):
    """The position of the newest event."""


@dataclass(frozen=True, slots=True)
class ReadJob(Command[JobRow]):
    """One job."""

    job_id: str


@dataclass(frozen=True, slots=True)
class ListJobs(Command[list[JobRow]]):
    """A page of jobs, newest first; `before` pages (a job's id)."""

    limit: int = 50
    before: str = ""


@dataclass(frozen=True, slots=True)
class Declare(Command[None]):
    """Record agents' declarations (name -> packed) for the namespace."""

    agents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Declared(Command[dict[str, bytes]]):
    """All recorded declarations."""


@dataclass(frozen=True, slots=True)
class Takers(Command[int]):
    """How many live workers take deliveries from a queue."""

    queue: str
