"""Every error that Batonpass raises, named for what you must do.

BatonpassError                 catch this to catch them all
├── Refused                    the call is wrong and nothing was written. Fix the call
│   ├── UnknownAgent           no app, here or in the store, declares that agent
│   ├── UndeclaredHandoff      the agent may not hand off to that agent, or not with that contract
│   ├── ContractViolation      a payload or result does not fit its contract (.fields says where)
│   ├── Unserializable         a value can't be saved, because it could not be restored (.path says which)
│   ├── NotFound               no such job, checkpoint or thread
│   ├── BadSetup               a wrong URL, an app that can't be imported, a declaration that can't work
│   └── MissingExtra           an optional package is not installed (the message has the pip command)
├── Conflict                   somebody else was first. Look at what is there, then decide
│   ├── KeyConflict            the idempotency key was used with another payload
│   ├── ThreadBusy             a job is still running on that thread
│   └── WrongState             the job's state does not allow this (answering a job that has no question)
├── Unavailable                the store did not confirm the call. Retrying is safe
│   ├── Unreachable            the store can't be reached
│   ├── Overloaded             the store is full or too busy, or the agent has too many jobs (max_waiting=)
│   └── Unconfirmed            the store did it, but its replicas did not confirm in time (?replicas=)
├── Fenced                     this worker does not own the job any more. Stop: nothing it writes counts
│   ├── Canceled               ... because the job was canceled
│   └── OverBudget             ... because the job has spent more than its guard allows and is parked
├── Corrupted                  stored bytes do not match their checksum, or can't be decoded
├── Trimmed                    the events after that cursor were deleted (.first_available is where to continue)
│   └── Rewound                ... because the store lost its last ones, including the cursor's
├── Unpruned                   some threads could not be pruned; the others were (.failed says why, .freed how many)
├── ChildrenFailed             too many children of a fan-out failed (.failed says which, and why)
├── StepMismatch               a recorded step was replayed with other arguments
├── Ambiguous                  an effect started, and its outcome is unknown. Find out, then redrive
├── Unanswered                 nobody answered `ctx.ask` in time, and there is no default. Catch it or the job fails
├── NotDone                    raise it in an effect's function: nothing happened, so it may be retried
├── RetryLater                 raise it in an agent: the next attempt starts in `retry_after` seconds
├── NoJob                      bp.current() was called outside of a job
└── JobError                   waiting for a result ended without one
    ├── JobFailed              the job failed (.reason, .error)
    ├── JobCanceled            the job was canceled
    ├── JobRejected            an agent rejected the job (.reason)
    └── ResultTimeout          the job has not ended yet, and continues
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .duration import Duration
    from .fanout import ChildFailed


class BatonpassError(Exception):
    """Base of all errors that Batonpass raises on purpose."""


class Refused(BatonpassError):
    """The call is wrong, and nothing was written. Fix the call."""


class UnknownAgent(Refused):
    """No app in this process and no declaration in the store has this agent."""


class UndeclaredHandoff(Refused):
    """The agent's declaration does not allow this handoff."""


class ContractViolation(Refused):
    """A payload or a result does not fit its contract.

    `fields` says where, as `field: what is wrong`.
    """

    def __init__(self, message: str, *, fields: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.fields = tuple(fields)


class Unserializable(Refused):
    """A value that could not be restored as an equal one. `path` leads to it, e.g. `state['items'][3]`."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class NotFound(Refused):
    """There is no such job, checkpoint or thread."""


class BadSetup(Refused):
    """A URL, an app or a declaration that can't work."""


class MissingExtra(Refused, ImportError):
    """An optional dependency is not installed."""


class Conflict(BatonpassError):
    """Somebody else was first. Nothing was written."""


class KeyConflict(Conflict):
    """The idempotency key was already used with another payload. `job_id` is the first one's job ("" for a fork)."""

    def __init__(self, message: str, *, job_id: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id


class ThreadBusy(Conflict):
    """A job is still running on the thread: `job_id`. Only its worker may write there."""

    def __init__(self, message: str, *, job_id: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id


class WrongState(Conflict):
    """The job's state does not allow the operation."""


class Unavailable(BatonpassError):
    """The store did not confirm the operation. Retrying is safe."""


class Unreachable(Unavailable):
    """The store can't be reached. `lasting` means that this handle can't recover, however long it waits."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Overloaded(Unavailable):
    """The store is full or too busy, or as many jobs wait for the `agent` as its `max_waiting` allows."""

    def __init__(self, message: str, *, agent: str = "") -> None:
        super().__init__(message)
        self.agent = agent


class Unconfirmed(Unavailable):
    """Written, but not yet on as many replicas as `?replicas=` asks for. Repeat the call: it is written once."""


class Fenced(BatonpassError):
    """The lease for this write no longer owns the job. Stop working on it."""


class Canceled(Fenced):
    """The job was canceled while this worker ran it."""


class OverBudget(Fenced):
    """The job has spent more than its guard allows, so it is parked. What it did so far is kept."""


class Corrupted(BatonpassError):
    """Stored bytes do not match their checksum or can't be decoded. If they are an event, `after` is the cursor to
    continue from."""

    after: str = ""


class Trimmed(BatonpassError):
    """The events after the cursor were deleted. `first_available` is the cursor to continue from."""

    def __init__(self, message: str, *, first_available: str) -> None:
        super().__init__(message)
        self.first_available = first_available


class Rewound(Trimmed):
    """The store went back in time and lost the cursor's event (a failover, a power loss, an old backup).

    Events written since then may lie before the cursor. Continue from `first_available`, which is earlier: you miss
    none of them, and see some events again. (On Redis this holds if the clock of the new master is less than ten
    minutes behind. Where it began to write is unknown there, and replaying all events would be too many.)
    """


class Unpruned(BatonpassError):
    """Some threads could not be pruned (a key or a package is missing here, or they are damaged), and all others were.

    `failed` has the error for each of them, by name, and `freed` is how many checkpoints of the others are gone.
    """

    def __init__(self, message: str, *, failed: Mapping[str, BatonpassError], freed: int) -> None:
        super().__init__(message)
        self.failed = dict(failed)
        self.freed = freed


class ChildrenFailed(BatonpassError):
    """Raised by `ctx.fan_out` when more children failed than it tolerates. `failed` has a `ChildFailed` for each. `key`
    is that of the fan-out, which a redrive makes again."""

    def __init__(self, message: str, *, failed: Sequence[ChildFailed], key: str = "") -> None:
        super().__init__(message)
        self.failed = tuple(failed)
        self.key = key


class StepMismatch(BatonpassError):
    """A recorded step was replayed with other arguments than the recorded ones."""


class Ambiguous(BatonpassError):
    """An effect started and its outcome was not recorded. Only a look at the other system can tell."""


class Unanswered(BatonpassError):
    """Nobody answered a question in time. `key` names the record that a redrive is to ask again."""

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class NotDone(BatonpassError):
    """Raise this in an effect's function if you know that nothing happened. The effect may then be retried."""


class RetryLater(BatonpassError):
    """Raise this in an agent that can't do its work now. The next attempt, if there is one, starts in so many seconds
    (or a timedelta)."""

    def __init__(self, seconds: Duration, message: str = "not now") -> None:
        super().__init__(message)
        self.retry_after = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds


class NoJob(BatonpassError):
    """`bp.current()` was called outside of a running job."""


class JobError(BatonpassError):
    """Waiting for a job's result ended without one. `job_id` says which job."""

    def __init__(self, message: str, *, job_id: str, reason: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id
        self.reason = reason


class JobFailed(JobError):
    """The job failed. `error` is the last error's text, `reason` why it is not retried."""

    def __init__(self, message: str, *, job_id: str, reason: str = "", error: str = "") -> None:
        super().__init__(message, job_id=job_id, reason=reason)
        self.error = error


class JobCanceled(JobError):
    """The job was canceled."""


class JobRejected(JobError):
    """An agent rejected the job."""


class ResultTimeout(JobError):
    """The job did not end within the timeout. It continues."""
