"""Job: the durable unit of work that passes between agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args

from .contract import ContractRef
from .guard import Guard, Spent
from .jsonable import jsonable
from .pause import Pause

# How long a delivery stays a worker's without a heartbeat, in seconds. Short is safe, because writes are fenced; it
# bounds how long the jobs of a dead worker wait.
DEFAULT_LEASE = 4.0
Priority: TypeAlias = Literal["high", "normal", "low"]
# As they are stored. The first are taken first.
BANDS: Mapping[Priority, int] = {"high": 1, "normal": 0, "low": -1}
PRIORITIES: Mapping[int, Priority] = {stored: name for name, stored in BANDS.items()}

# What a new job does to one that has not ended on its thread: it is refused ("reject"), waits for its turn ("queue"),
# or cancels that one and goes on from its last checkpoint ("interrupt"), or from where that one began ("rollback").
OnBusy: TypeAlias = Literal["reject", "queue", "interrupt", "rollback"]


# Why a job failed. (A newer release may know more reasons.)
FailureReason: TypeAlias = Literal[
    "attempts",  # its policy's attempts are used up
    "permanent",  # no policy allows another attempt
    "out_of_time",  # its policy's time is used up
    "contract",
    "refused",  # by the context or an adapter
    "unknown_agent",
    "ambiguous",
    "unanswered",
    "children",  # it went on without enough of them, or failed before it recorded more than how they ended
    "chain_guard",
    "poison",
    "corrupted",
    "expired",
    "deadline",
    "imported",  # it had not ended elsewhere
]
# The reason of a job that waits for a time in the middle of a hop.
SLEEPING = "sleeping"
FAILURE_REASONS: tuple[FailureReason, ...] = get_args(FailureReason)
CHILDREN: FailureReason = "children"


class JobState(StrEnum):
    """The state of a job, in A2A's words. Only the last four are ends."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"

    @property
    def ended(self) -> bool:
        """Whether the job has ended. It runs again only if somebody redrives it."""
        return self in ENDED


ENDED = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELED, JobState.REJECTED})


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Exclusive, expiring ownership of one delivery of a job by one worker.

    `token` grows with every lease of the job, and `id` is random. A write counts only if both equal the stored ones.
    `expires_at` is the store's time. The holder of an expired lease may continue until somebody takes the job over.
    """

    id: str
    token: int
    worker: str
    expires_at: datetime


@dataclass(frozen=True)
class Children:
    """The children of a job's last fan-out: how many there are, how many completed, how many ended otherwise."""

    total: int
    done: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class JobInfo:
    """A job as it was at one moment.

    - `reason` explains the state. Submitted: "ready", "retry_at", "scheduled", "thread_busy", "limited",
      "rate_limited", "sleeping". Working: "waiting_children". Input_required: "question". Failed: a `FailureReason`.
      `Job.waits_for()` says more about a job that waits.
    - `hop` counts visits at agents from 0. `attempt` counts attempts of this hop from 1, and `crashes` the workers that
      died or went silent in it. `path` lists the agents visited so far, with the current one.
    - `question` is what an input_required job asks. `error` is the last error's text. If others ended
      the job, it also names the effects that may have happened.
    - `expires_at` is when the job fails unless a worker starts it (None once one has). `deadline` is when it fails
      unless it ends.
    - `guard` is its limits. `spent` is what was used up to the last handoff, or in all once the job has ended.
    - `parent` is the job that waits, or waited, for this one. `children` counts those of its own last fan-out in this
      hop.
    - `paused` is the pause of its agent, if the job is submitted and that is paused: no worker starts it meanwhile.
    - `unreadable` names what is damaged, or encrypted with a key that this client lacks: the "envelope" (then `path`,
      `guard` and `spent` are unknown), the "question", or a number of the job, for which its default stands then.
    """

    id: str
    state: JobState
    reason: str
    agent: str
    contract: ContractRef
    thread: str
    hop: int
    attempt: int
    crashes: int
    path: tuple[str, ...]
    guard: Guard
    spent: Spent
    checkpoint_id: str | None
    lease: Lease | None
    key: str | None
    question: Any
    error: str | None
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    priority: Priority
    expires_at: datetime | None
    deadline: datetime | None
    parent: str | None
    children: Children | None
    unreadable: tuple[str, ...] = ()
    paused: Pause | None = None

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with times as text."""
        return jsonable({**vars(self), "state": str(self.state), "contract": str(self.contract)})
