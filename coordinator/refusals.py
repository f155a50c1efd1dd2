"""Refusals: a code and its arguments become an error in the words that the user reads.

The Lua scripts answer with the code, and the Python operations raise the error, so the wording is the same.
"""

from __future__ import annotations

from collections.abc import Callable

from ..contracts.errors import (
    BadSetup,
    BatonpassError,
    Canceled,
    Conflict,
    Corrupted,
    Fenced,
    KeyConflict,
    NotFound,
    Overloaded,
    Rewound,
    ThreadBusy,
    Trimmed,
    WrongState,
)
from ..contracts.job import ENDED


class Ungrounded(BatonpassError):
    """What a checkpoint shares is gone, or its logs have grown differently: it has to be sent with more of its state.
    Callers never see this."""


class Strayed(BatonpassError):
    """A job's thread has another tip than the job's last checkpoint: it may have been taken back. Callers never see
    this."""


class Elsewhere(BadSetup):
    """The namespace is at another place, is being brought there, or is not here yet. Nobody's request is wrong."""


class Denied(BadSetup):
    """The server lets us do less than this takes, or does not let us in. Nobody's request is wrong."""


def refusal(code: str, *arguments: str) -> BatonpassError:
    """The error for a code that an operation answered."""
    make = _MAKERS.get(code)
    return make(*arguments) if make else Corrupted(f"the store answered with an unknown refusal {code!r}")


def _fenced(job_id: str, token: str, state: str, worker: str, current: str) -> BatonpassError:
    if state == "canceled":
        return Canceled(f"job {job_id} was canceled: stop working on it, its writes are refused")
    if state in ENDED:
        return Fenced(f"job {job_id} is already {state}: the lease with token {token} has ended, nothing was written")
    if worker:
        return Fenced(f"job {job_id} now belongs to worker {worker} (token {current}): token {token} was refused")
    return Fenced(f"job {job_id} was taken back ({state}): the lease with token {token} has ended, nothing was written")


def _no_job(job_id: str, _searched: str = "") -> BatonpassError:
    return NotFound(f"there is no job {job_id}: it may have been deleted, or belong to another store or namespace")


def _no_checkpoint(checkpoint_id: str) -> BatonpassError:
    return NotFound(f"there is no checkpoint {checkpoint_id}: it may have expired, or belong to another store")


def _not_on(checkpoint_id: str, thread: str) -> BatonpassError:
    return BadSetup(
        f"checkpoint {checkpoint_id} is not on thread {thread!r}: before= must be a checkpoint of its timeline"
    )


def _key(key: str, first: str) -> BatonpassError:
    return KeyConflict(
        f"the key {key!r} was already used with another payload, by job {first}: use another key, or that job",
        job_id=first,
    )


def _busy(thread: str, job_id: str, way: str = "") -> BatonpassError:
    return ThreadBusy(
        f"thread {thread!r} is in use by job {job_id}: wait until it ends (a LangGraph saver's `own` does), cancel it "
        f"(`batonpass cancel {job_id}`), or use another thread{way}",
        job_id=job_id,
    )


def _occupied(thread: str, job_id: str) -> BatonpassError:
    return ThreadBusy(
        f"thread {thread!r} is in use by job {job_id}, and a failed job can only go on on its own thread: redrive it "
        f"when that one has ended, or cancel that one (`batonpass cancel {job_id}`)",
        job_id=job_id,
    )


def _turned_away(thread: str, job_id: str) -> BatonpassError:
    return _busy(thread, job_id, ", or submit with on_busy= (--on-busy)")


def _needed(checkpoint_id: str, job_id: str) -> BatonpassError:
    text = f"job {job_id} would resume from checkpoint {checkpoint_id}: cancel the job before you expire it"
    return ThreadBusy(text, job_id=job_id)


def _moved(parent: str, tip: str) -> BatonpassError:
    return Conflict(
        f"checkpoint {parent} is no longer its thread's tip, {tip} is: read it again, or save with branch=True"
    )


def _outrun(thread: str, wanted: str, latest: str) -> BatonpassError:
    if latest < wanted:
        return Conflict(
            f"checkpoint {wanted} of thread {thread!r}, from which this run continues, does not exist (any more): "
            "run it again, from another one if you named this one"
        )
    began = f"began from {wanted}" if wanted else "began when it had none"
    return Conflict(
        f"another run or an update_state() has advanced thread {thread!r} to checkpoint {latest}, this one {began}: "
        "nothing of this superstep was written. Earlier ones of the run, and its input too, may be on the thread: look "
        "at its state before you run it again"
    )


def _not_asking(job_id: str, state: str) -> BatonpassError:
    return WrongState(f"job {job_id} is {state}: it has no open question")


def _asks_other(job_id: str, given: str, asked: str) -> BatonpassError:
    return WrongState(f"job {job_id} no longer asks {job_id}.{given}, but {job_id}.{asked}: read that question first")


def _not_timed(job_id: str, state: str, reason: str) -> BatonpassError:
    return WrongState(
        f"job {job_id} is {state}{reason and f' ({reason})'}: only one that waits for its next attempt, or for its "
        "scheduled time, can be run now"
    )


def _not_failed(job_id: str, state: str) -> BatonpassError:
    return WrongState(f"job {job_id} is {state}: only a failed job can be redriven")


def _failed_again(job_id: str) -> BatonpassError:
    return WrongState(f"job {job_id} was redriven meanwhile, ran, and failed again: look at it before you redrive it")


def _cursor(position: str) -> BatonpassError:
    return BadSetup(f"{position!r} is not a cursor of this store: use the .cursor of one of its events or parts")


def _trimmed(position: str, gone: str) -> BatonpassError:
    return Trimmed(
        f"the events after {position!r} were deleted: continue from {gone!r} (.first_available), and list the jobs for "
        "the rest",
        first_available=gone,
    )


def _rewound(position: str, back: str) -> BatonpassError:
    return Rewound(
        f"event {position!r} is not in the store, which has lost it by going back in time, or never had it: continue "
        f"from {back!r} (.first_available), where some events come again",
        first_available=back,
    )


def _behind(name: str, gone: str) -> BatonpassError:
    return Trimmed(
        f"events that group {name!r} has not processed were deleted: continue with the stored ones by "
        f"move_group({name!r}, to='begin') or `batonpass groups move`",
        first_available=gone,
    )


def _no_group(name: str) -> BatonpassError:
    return NotFound(f"there is no consumer group {name!r}: it was deleted, or has had no consumer yet")


def _named(thread: str, name: str, checkpoint_id: str) -> BatonpassError:
    return Conflict(
        f"checkpoint {checkpoint_id} of thread {thread!r} is already named {name!r}: unname it, or use another name"
    )


def _no_name(thread: str, name: str) -> BatonpassError:
    return NotFound(
        f"no checkpoint of thread {thread!r} is named {name!r}: `batonpass timeline THREAD --named` lists them"
    )


def _exists(thread: str) -> BatonpassError:
    return Conflict(f"thread {thread!r} already exists: use another name, or delete it first")


def _unended(job_id: str, state: str) -> BatonpassError:
    return WrongState(f"job {job_id} is {state}: cancel it, or wait until it ends, before you delete it")


def _names(thread: str, most: str) -> BatonpassError:
    return Conflict(f"thread {thread!r} has {most} named checkpoints already: unname some")


def _thread(checkpoint_id: str) -> BatonpassError:
    return BadSetup(f"checkpoint {checkpoint_id} was made for another thread than its job's")


def _unstaged(job_id: str, staged: str, wanted: str) -> BatonpassError:
    return Conflict(f"job {job_id} has {staged} staged children, not {wanted}: fan out again")


def _elsewhere(mark: str) -> Elsewhere:
    kind, _, where = mark.split(" ", 2)
    if kind == "moved":
        return Elsewhere(f"this namespace was moved to {where}: use that")
    if kind == "moving":
        return Elsewhere(f"this namespace is being moved to {where}: stop, and continue there when it is done")
    return Elsewhere(f"this namespace is being filled from {where}: wait until that is done")


def _strayed(thread: str, tip: str) -> BatonpassError:
    return Strayed(f"the tip of thread {thread!r} is {tip}")


def _ungrounded(base: str) -> BatonpassError:
    return Ungrounded(f"checkpoint {base} or the logs that it shares went on without this one")


def _full(agent: str, most: str) -> BatonpassError:
    return Overloaded(
        f"agent {agent!r} has {most} deliveries waiting, all that max_waiting allows: submit later, or start workers",
        agent=agent,
    )


_MAKERS: dict[str, Callable[..., BatonpassError]] = {
    "fenced": _fenced,
    "no_job": _no_job,
    "no_checkpoint": _no_checkpoint,
    "not_on": _not_on,
    "key": _key,
    "full": _full,
    "busy": _busy,
    "turned_away": _turned_away,
    "occupied": _occupied,
    "needed": _needed,
    "moved": _moved,
    "outrun": _outrun,
    "not_asking": _not_asking,
    "asks_other": _asks_other,
    "not_timed": _not_timed,
    "not_failed": _not_failed,
    "failed_again": _failed_again,
    "cursor": _cursor,
    "trimmed": _trimmed,
    "rewound": _rewound,
    "behind": _behind,
    "no_group": _no_group,
    "named": _named,
    "names": _names,
    "no_name": _no_name,
    "exists": _exists,
    "unended": _unended,
    "thread": _thread,
    "unstaged": _unstaged,
    "ungrounded": _ungrounded,
    "strayed": _strayed,
    "elsewhere": _elsewhere,
}
