"""Idle: what may only be done to a thread that no job runs on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...contracts.errors import ThreadBusy


@contextmanager
def only_idle(thread: str, what: str) -> Generator[None]:
    """Says what to do about a job that is in the way of `what`. To use another thread, as for a save or a job, is of no
    help here, and the job may wait for a person."""
    try:
        yield
    except ThreadBusy as busy:
        job = busy.job_id
        raise ThreadBusy(
            f"thread {thread!r} is in use by job {job}: cancel it (`batonpass cancel {job}`), or wait until it ends, "
            f"before you {what}",
            job_id=job,
        ) from None
