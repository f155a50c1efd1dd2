"""Waiting until a job asks a person, so that a test can play that person."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any, overload

from anyio import sleep

from batonpass.contracts.duration import Duration, seconds_of
from batonpass.contracts.errors import ResultTimeout, WrongState
from batonpass.contracts.job import JobInfo, JobState
from batonpass.coordinator.job import Job, SyncJob

_PAUSE = 0.005


@overload
def asked(job: Job[Any], *, timeout: Duration = 10) -> Coroutine[Any, Any, Any]: ...


@overload
def asked(job: SyncJob[Any], *, timeout: Duration = 10) -> Any: ...


def asked(job: Job[Any] | SyncJob[Any], *, timeout: Duration = 10) -> Any:
    """What a job asks, as soon as it asks something: `question = await asked(job)`, in sync code without `await`.

    Then `job.answer(...)` plays the person. Raises `WrongState` if the job ends without asking, and `ResultTimeout` if
    it does neither in time.
    """
    wait = seconds_of(timeout)
    return _asked(job, wait) if isinstance(job, Job) else _asked_sync(job, wait)


async def _asked(job: Job[Any], wait: float) -> Any:
    end = time.monotonic() + wait
    while not _asks(info := await job.info(), end):  # noqa: ASYNC110 - a handle only waits for ends
        await sleep(_PAUSE)
    return info.question


def _asked_sync(job: SyncJob[Any], wait: float) -> Any:
    end = time.monotonic() + wait
    while not _asks(info := job.info(), end):
        time.sleep(_PAUSE)
    return info.question


def _asks(info: JobInfo, end: float) -> bool:
    """Whether a job asks something now. An error if it no longer can, or if time is up."""
    if info.state.ended:
        why = f": {info.error}" if info.error else ""
        raise WrongState(f"job {info.id} is {info.state} and asked nothing{why}")
    if info.state == JobState.INPUT_REQUIRED:
        return True
    if time.monotonic() > end:
        where = f"job {info.id} is {info.state} at agent {info.agent!r}"
        raise ResultTimeout(f"{where} and has asked nothing in time", job_id=info.id, reason=info.reason)
    return False
