"""How a store says no: a code and its arguments, in the words that the user reads.

The Lua scripts answer with the code, the Python operations raise the error: one wording for both.
"""

from __future__ import annotations

from collections.abc import Callable

from ..contracts.errors import (
    BatonpassError,
    Canceled,
    Conflict,
    Corrupted,
    Fenced,
    KeyConflict,
    NotFound,
    ThreadBusy,
    WrongState,
)

_ENDED = ("completed", "failed", "canceled", "rejected")


def refusal(code: str, *arguments: str) -> BatonpassError:
    """The error for a code that an operation answered."""
    make = _MAKERS.get(code)
    return make(*arguments) if make else Corrupted(f"the store answered with an unknown refusal {code!r}")


def _fenced(job_id: str, token: str, state: str, worker: str, current: str) -> BatonpassError:
    if state == "canceled":
        return Canceled(f"job {job_id} was canceled: stop working on it, nothing more is accepted")
    if state in _ENDED:
        return Fenced(f"job {job_id} is {state} already: the lease with token {token} is over, nothing was written")
    if worker:
        return Fenced(f"job {job_id} belongs to worker {worker} (token {current}) now: token {token} was refused")
    return Fenced(f"job {job_id} was taken back ({state}): the lease with token {token} is over, nothing was written")


_MAKERS: dict[str, Callable[..., BatonpassError]] = {
    "fenced": _fenced,
    "no_job": lambda job_id: NotFound(f"there is no job {job_id}: list them with `batonpass jobs`"),
    "no_checkpoint": lambda id_: NotFound(f"there is no checkpoint {id_}: it expired, or it is of another store"),
    "key": lambda key, first: KeyConflict(
        f"the key {key!r} was used with another payload, by job {first}: use another key, or that job"
    ),
    "busy": lambda thread, job_id: ThreadBusy(
        f"thread {thread!r} belongs to job {job_id} until that ends: wait for it, or use another thread"
    ),
    "needed": lambda id_, job_id: ThreadBusy(
        f"job {job_id} would resume from checkpoint {id_}: cancel the job before you expire it"
    ),
    "moved": lambda parent, tip: Conflict(
        f"checkpoint {parent} is not its thread's tip any more, {tip} is: read again, or save with branch=True"
    ),
    "not_asking": lambda job_id, state: WrongState(f"job {job_id} is {state}: it asks nothing that could be answered"),
}
