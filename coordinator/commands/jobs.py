"""Commands about jobs and their deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from ...contracts.job import OnBusy
from ...contracts.lean import dataclass
from ...contracts.nothing import nothing
from ..rows import Delivery, Fence, JobRow, KeptJob, LaneRow
from .base import Command, NewCheckpoint
from .threads import Freed


@dataclass(slots=True)  # as NewCheckpoint
class Target:
    """An address and its envelope. `queue` is the digest of agent, contract, version and priority band. `about` has
    more fields for the event. `lane` is the digest of the key by which it is limited, "" for the lane of all of the
    agent's deliveries."""

    agent: str
    contract: str
    queue: str
    envelope: bytes
    about: Mapping[str, str] = field(default_factory=nothing)
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a job is to be delivered: its priority (greater goes first), and not before `at`.

    It fails if it was not started within `expires`, or did not end within `within` or by `deadline`. `at` and
    `deadline` are times in ms since 1970, 0 for none, as everywhere. With `most`, it is refused while so many
    deliveries are ready in the queues `counted` or wait in its lane. `on_busy` says what to do if another unended job
    is on its thread.
    """

    priority: int = 0
    at: int = 0
    expires: int = 0
    within: int = 0
    deadline: int = 0
    most: int = 0
    counted: tuple[str, ...] = ()
    on_busy: OnBusy = "reject"


@dataclass(slots=True)  # as NewCheckpoint
class Submit(Command[JobRow]):
    """Make a job and its first delivery. `origin` is the checkpoint that it goes on from ("": its thread's tip)."""

    job_id: str
    thread: str
    target: Target
    key: str = ""
    idem: str = ""
    payload_digest: str = ""
    key_ttl: int = 86_400_000
    delay: int = 0
    origin: str = ""
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class Limits:
    """How many deliveries of a key may run at once, and how many may start within `per`. 0: any number. `lane` is the
    lane of deliveries that name none."""

    lane: str
    concurrency: int = 0
    count: int = 0
    per: int = 0


class Claimed(list[Delivery]):
    """What a claim got. If nothing more is ready, `due` is in how many ms the next timer or lease is due. -1: there is
    none, or it was not looked at."""

    def __init__(self, found: Iterable[Delivery] = (), *, due: int = -1) -> None:
        super().__init__(found)
        self.due = due


@dataclass(frozen=True, slots=True)
class Claim(Command[Claimed]):
    """Lease up to len(leases) ready deliveries. `queues` are pairs of queue and lease duration, tried in order.
    `limits` are those that the worker knows for some of the queues."""

    worker: str
    queues: tuple[tuple[str, int], ...]
    leases: tuple[str, ...]
    limits: Mapping[str, Limits] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class Heartbeat(Command[list[str]]):
    """Renew leases, each for its duration. Returns "" (held), "lost" or "canceled" for each."""

    leases: tuple[tuple[Fence, int], ...]


@dataclass(frozen=True, slots=True)
class Record(Command[None]):
    """Commit journal records without a checkpoint. Here and in other commands, an empty one deletes that key."""

    fence: Fence
    records: Mapping[str, bytes]


# The journal key under which the store finds what the job had spent before. Its format is the worker's.
SPENT = "spent"
# The journal keys of recorded steps begin with this. Each has its arguments' digest (None: any), and its result.
STEP = "step/"
# Those that say that an effect has started.
EFFECT = "effect/"
# Those that say that an effect is open: it has started, and its outcome is not recorded. Each goes as that is.
DOUBT = "doubt/"
# Those that have an effect's outcome, as a step's.
OUTCOME = f"{STEP}effect:"
# Those that say that a part of its agent has recorded or found a step or an effect: this, the part, and that one's key.
MARK = "mark/"
# Those that name the parts of which a step or an effect perhaps is that an earlier visit has left: this, and its key.
# (Older releases wrote these for all parts.)
LEFT = "part/"


@dataclass(slots=True)  # as NewCheckpoint
class HandOff(Command[None]):
    """End this delivery and make the next one, for another agent, with the last checkpoint. `spent` becomes the first
    record of the next hop's journal, if it is not empty."""

    fence: Fence
    target: Target
    checkpoint: NewCheckpoint | None = None
    spent: bytes = b""


@dataclass(slots=True)  # as NewCheckpoint
class Complete(Command[None]):
    """End the job with its result."""

    fence: Fence
    result: bytes
    checkpoint: NewCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class Fail(Command[None]):
    """End this delivery without a result. It is tried again after `retry_in`, or ends for good if that is None. Then
    `spent` is what its parent counts, if it has one; by default, what its journal says (`SPENT`)."""

    fence: Fence
    error: str
    reason: str
    retry_in: int | None = None
    state: str = "failed"
    spent: bytes = b""


@dataclass(frozen=True, slots=True)
class Suspend(Command[None]):
    """End this delivery with a question; the job waits for its answer.

    `terms` is what else is stored about the question. After `timeout` (0: never), the next of `escalation` is asked (in
    a line for each: for how long, and who). After the last one, the job goes on with the answer `otherwise`, or without
    one if that is empty.

    With `again`, the last answer was not one, and the question goes on as it was: whom it asks, until when, and who
    comes next stay. (What an older release has stored of an answer does not say that: then it begins anew.)
    """

    fence: Fence
    question: bytes
    checkpoint: NewCheckpoint | None = None
    terms: bytes = b""
    assignee: str = ""
    timeout: int = 0
    otherwise: bytes = b""
    escalation: str = ""
    again: bool = False


@dataclass(slots=True)  # as NewCheckpoint
class Sleep(Command[None]):
    """End this delivery. The job goes on after `delay` ms."""

    fence: Fence
    delay: int
    checkpoint: NewCheckpoint | None = None


@dataclass(frozen=True, slots=True)
class Release(Command[None]):
    """Give a delivery back unfinished. Another worker goes on from its last checkpoint.

    - `crash` says how the process that ran the delivery died. It is counted.
    - `aside`: the worker can't run this delivery, so it goes behind everything that is ready.
    - `cut_off`: the worker could not reach the store. If its lease has run out meanwhile, this does not count as a
      crash any more; once, and until the next delivery ends.
    """

    fence: Fence
    crash: str = ""
    aside: bool = False
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class AnswerJob(Command[None]):
    """Answer a suspended job's question, so that it becomes deliverable. `asked` says which question (0: any), `by` who
    answers."""

    job_id: str
    answer: bytes
    asked: int = 0
    by: str = ""


@dataclass(frozen=True, slots=True)
class Cancel(Command[bool]):
    """End a job from outside. Returns False if it had ended already."""

    job_id: str


@dataclass(frozen=True, slots=True)
class RunNow(Command[bool]):
    """Make a job ready that waits for its next attempt or for the time that it was submitted for. Returns False if it
    is ready, or at work, already."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Redrive(Command[None]):
    """Make a failed job deliverable again, with a new count of attempts: the same hop, from its last checkpoint, with
    its journal. `target` replaces its address and envelope, `tip` the checkpoint that it goes on from. `records` are
    added to its journal. `token` is that of its last lease, as whoever redrives it saw it fail (-1: whichever).
    `at_tip`: refused (`Strayed`) if its thread's tip is another checkpoint than its last one."""

    job_id: str
    target: Target | None = None
    tip: str = ""
    token: int = -1
    records: Mapping[str, bytes] = field(default_factory=nothing)
    at_tip: bool = False


@dataclass(frozen=True, slots=True)
class Reaped:
    """How many deliveries `Reap` made ready or ended, and in how many ms the next is due (-1: none; 1 also if expired
    checkpoints are left). `left`: more has expired than was freed, whatever else is due.

    `queues` are those of the deliveries, if the store's workers wait elsewhere and have to be woken. `away` are the
    partitions that did not answer, and why."""

    moved: int
    next_due: int
    queues: tuple[str, ...] = field(default=(), compare=False)
    away: Mapping[int, Exception] = field(default_factory=dict[int, Exception], compare=False)
    left: bool = False


@dataclass(frozen=True, slots=True)
class Reap(Command[Reaped]):
    """End overdue jobs, take back expired leases, make due timers ready, free what expired: at most `limit` of each.

    Also records for `presence` ms that `worker` (see presence.py) takes from `queues`. With `early`, lines that wait
    for a time move now, and the next claim decides whether it has come. Without `leases`, expired ones are left to
    their holders. With `spared`, they are in these partitions, and those that are away don't fail the others.
    """

    limit: int = 100
    worker: str = ""
    queues: tuple[str, ...] = ()
    presence: int = 0
    early: bool = False
    leases: bool = True
    spared: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class DeleteJob(Command[None]):
    """Delete an ended job and its idempotency key, and its thread if nothing is left of that."""

    job_id: str


@dataclass(frozen=True, slots=True)
class PruneJobs(Command[Freed]):
    """Delete jobs that ended `older_than` ms ago, each with its own thread. What they left on other threads stays.

    Looks at jobs from number `start` on, oldest first, and frees about `limit` jobs and checkpoints.
    """

    older_than: int
    start: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ReadJob(Command[JobRow]):
    """One job."""

    job_id: str


@dataclass(frozen=True, slots=True)
class ReadLane(Command[LaneRow]):
    """What a job waits for that waits in the line of a lane: who has a place in it, at most `limit` of them."""

    job_id: str
    lane: str
    limit: int


@dataclass(frozen=True, slots=True)
class ReadTurns(Command[list[str]]):
    """The job that has a thread, and behind it those that wait for their turn, at most `limit` of them. None if no job
    has the thread."""

    thread: str
    limit: int


@dataclass(frozen=True, slots=True)
class FirstUse(Command[JobRow | None]):
    """The job that used an idempotency key first. None if there is none, or the key has expired. (If only a trace of
    the job is left, it has no state.)"""

    idem: str


@dataclass(frozen=True, slots=True)
class ReadKept(Command[KeptJob]):
    """One job with its journal and its children's outcomes."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Adopt(Command[None]):
    """Add a job that ran in another store, where it happened as `events` say (in their fields). It has ended, or it
    asks, and then it gets its thread. The same again changes nothing."""

    kept: KeptJob
    events: Sequence[Mapping[str, str]] = ()

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.kept.job.id


@dataclass(frozen=True, slots=True)
class Inbox(Command[list[JobRow]]):
    """A page of the jobs that ask, in the order of when they asked, those after a given time and job."""

    limit: int = 50
    after: int = 0
    after_id: str = ""


@dataclass(frozen=True, slots=True)
class ListJobs(Command[list[JobRow]]):
    """A page of jobs, newest first, those before the job `before`. `dead`: only failed ones, the last to fail first.

    With `at` (when `before` was created, or failed, as it was read), the page begins below that place, even if the job
    has moved or is gone; without `before`, below all jobs of that time.

    With a `state` or an `agent`, or without `children` (of fan-outs), others may be left out, and an empty page is the
    last one. A page may still have others, which are to be skipped: that is how a store that looks at some jobs at a
    time shows how far it came.
    """

    limit: int = 50
    before: str = ""
    dead: bool = False
    state: str = ""
    agent: str = ""
    at: int = 0
    children: bool = True

    @property
    def chooses(self) -> bool:
        """Whether others may be left out."""
        return bool(self.state or self.agent or not self.children)


@dataclass(frozen=True, slots=True)
class JobsOn(Command[list[JobRow]]):
    """A page of a thread's jobs, newest first, those before the job `before`, which must be one of them. `at` as in
    `ListJobs`."""

    thread: str
    limit: int = 50
    before: str = ""
    at: int = 0
