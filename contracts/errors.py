"""Every error that Batonpass raises, named for what the user must do.

BatonpassError                 catch this to catch them all
├── Refused                    the call is wrong; nothing was written. Fix the call
│   ├── UnknownAgent           no app, here or in the store, declares that agent
│   ├── UndeclaredHandoff      the agent may not hand off to that agent, or not with that contract
│   ├── ContractViolation      a payload or result does not fit its contract (.fields names where)
│   ├── Unserializable         a value that could not be restored can't be saved (.path says which)
│   ├── NotFound               no such job, checkpoint or thread
│   ├── BadSetup               a wrong URL, an app that can't be imported, a declaration at odds with itself
│   └── MissingExtra           an optional package is not installed (the message has the pip command)
├── Conflict                   somebody was first. Look at what is there, then decide
│   ├── KeyConflict            the idempotency key was used with another payload
│   ├── ThreadBusy             an unended job runs on that thread
│   └── WrongState             the job is not in a state that allows this (answer a job that asks nothing)
├── Unavailable                the store did not do it. Retrying is safe
│   ├── Unreachable            the store can't be reached
│   ├── Overloaded             the store is full or too busy, or enough waits for the agent (max_waiting=)
│   └── Unconfirmed            the store did it, but its replicas did not confirm in time (?replicas=)
├── Fenced                     this worker does not own the job any more. Stop; nothing it writes counts
│   ├── Canceled               ... because the job was canceled
│   └── OverBudget             ... because its chain has spent more than its guard allows: it is parked
├── Corrupted                  stored bytes do not match their checksum, or can't be understood
├── Trimmed                    events after that cursor are gone (.first_available is where those left begin)
│   └── Rewound                ... because the store lost its last ones, the cursor's among them
├── ChildrenFailed             too many children of a fan-out failed (.failed says which, and why)
├── StepMismatch               a recorded step was replayed with other arguments
├── Ambiguous                  an effect was begun, and nobody recorded whether it was done. Look, then redrive
├── Unanswered                 nobody answered `ctx.ask` in time, and it has no default. Catch it, or fail
├── NotDone                    raised by an effect's function: nothing happened, it may be tried again
├── RetryLater                 raised by an agent: its next attempt begins in `retry_after` seconds
├── NoJob                      bp.current() outside of a job
└── JobError                   how waiting for a result ended
    ├── JobFailed              the job failed (.reason, .error)
    ├── JobCanceled            the job was canceled
    ├── JobRejected            an agent rejected the job (.reason)
    └── ResultTimeout          not ended yet; the job goes on
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .duration import Duration
    from .fanout import ChildFailed


class BatonpassError(Exception):
    """Base of every error raised on purpose by Batonpass."""


class Refused(BatonpassError):
    """The call is wrong. Nothing was written; fix the call."""


class UnknownAgent(Refused):
    """No app in this process and no declaration in the store knows the agent."""


class UndeclaredHandoff(Refused):
    """The agent's declaration does not allow this handoff."""


class ContractViolation(Refused):
    """A payload or a result does not fit its contract.

    `fields` names the places, as `field: what is wrong`.
    """

    def __init__(self, message: str, *, fields: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.fields = tuple(fields)


class Unserializable(Refused):
    """A value of a type that could not come back equal. `path` leads to it, e.g. `state['items'][3]`."""

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
    """Somebody was first. Nothing was written."""


class KeyConflict(Conflict):
    """The idempotency key was already used with another payload."""


class ThreadBusy(Conflict):
    """An unended job runs on the thread; only its worker may write there."""


class WrongState(Conflict):
    """The job's state does not allow the operation."""


class Unavailable(BatonpassError):
    """The store did not carry the operation out. Retrying is safe."""


class Unreachable(Unavailable):
    """The store can't be reached. `lasting`: not by this handle any more, however long it waits."""

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class Overloaded(Unavailable):
    """The store is full or too busy, or as much waits for the agent as its `max_waiting` allows."""


class Unconfirmed(Unavailable):
    """Written, but not yet on as many replicas as `?replicas=` asks for. Do the same again: it is written once."""


class Fenced(BatonpassError):
    """The lease under which this was written is no longer the job's. Stop working on it."""


class Canceled(Fenced):
    """The job was canceled while this worker ran it."""


class OverBudget(Fenced):
    """The job's chain has spent more than its guard allows, so it is parked. What was done until now is kept."""


class Corrupted(BatonpassError):
    """Stored bytes do not match their checksum or can't be decoded."""


class Trimmed(BatonpassError):
    """Events that come after the cursor are not kept any more. `first_available` is the cursor to go on from."""

    def __init__(self, message: str, *, first_available: str) -> None:
        super().__init__(message)
        self.first_available = first_available


class Rewound(Trimmed):
    """The store went back in time and does not have the cursor's event any more (a failover, a power loss, an old
    backup). What was written since may lie before the cursor: from `first_available`, which is earlier, nothing of it
    is missed, and what was seen before comes again. (On Redis that is so if the clock of the server that took over is
    less than ten minutes behind. Where it began to write is not known there, and all events would be too many.)"""


class ChildrenFailed(BatonpassError):
    """Raised by `ctx.fan_out` when more children failed than it tolerates. `failed` has a `ChildFailed` for each."""

    def __init__(self, message: str, *, failed: Sequence[ChildFailed]) -> None:
        super().__init__(message)
        self.failed = tuple(failed)


class StepMismatch(BatonpassError):
    """A step that is recorded was replayed with other arguments than the recorded ones."""


class Ambiguous(BatonpassError):
    """An effect was begun and its outcome was not recorded: only a look at the outside world can tell."""


class Unanswered(BatonpassError):
    """Nobody answered a question in time. `key` names the record of it."""

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class NotDone(BatonpassError):
    """Raised by an effect's function that knows that nothing happened: the effect may be tried again."""


class RetryLater(BatonpassError):
    """Raised by an agent that can't do its work now: the next attempt begins in so many seconds (or a timedelta),
    if there is one."""

    def __init__(self, seconds: Duration, message: str = "not now") -> None:
        super().__init__(message)
        self.retry_after = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds


class NoJob(BatonpassError):
    """`bp.current()` was called outside of a running job."""


class JobError(BatonpassError):
    """Waiting for a job's result did not give a result. `job_id` says which job."""

    def __init__(self, message: str, *, job_id: str, reason: str = "") -> None:
        super().__init__(message)
        self.job_id = job_id
        self.reason = reason


class JobFailed(JobError):
    """The job failed; `error` is the last error's text, `reason` why it is not retried."""

    def __init__(self, message: str, *, job_id: str, reason: str = "", error: str = "") -> None:
        super().__init__(message, job_id=job_id, reason=reason)
        self.error = error


class JobCanceled(JobError):
    """The job was canceled."""


class JobRejected(JobError):
    """An agent rejected the job."""


class ResultTimeout(JobError):
    """The job did not end within the timeout. It goes on."""
