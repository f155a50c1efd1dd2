"""Retention: calls that delete what is old or unwanted. Each step frees about a hundred."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any

from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, ThreadBusy
from ..commands import Command, DeleteJob, DeleteThread, Freed, Prune, PruneJobs, ReadJob, Threads
from ..parts.bases import Bases
from ..rows import JobRow
from . import Call
from .inputs import count, milliseconds, text
from .jobs import checked

_PAGE = 500


def prune(thread: str | None, keep_last: int | None, older_than: Duration | None, keep_named: bool) -> Call[int]:
    """Free the old checkpoints of a thread, or of all threads. Returns how many."""
    if keep_last is None and older_than is None:
        raise BadSetup("prune needs keep_last= (how many of each thread stay), older_than= (seconds), or both")
    if keep_last is not None:
        count(keep_last, "keep_last")
    age = milliseconds(older_than, "older_than") if older_than is not None else 0
    freed = 0
    for name in [text(thread, "thread")] if thread is not None else (yield from _threads()):
        at = 0
        while at >= 0:
            done: Freed = yield Prune(name, keep_last or 0, age, keep_named, at)
            freed, at = freed + done.count, done.next
    return freed


def _threads() -> Generator[Command[Any], Any, list[str]]:
    names: list[str] = []
    while True:
        page: list[str] = yield Threads(_PAGE, names[-1] if names else "")
        names += page
        if len(page) < _PAGE:
            return names


def delete(bases: Bases, thread: str) -> Call[int]:
    """Delete a thread with everything that only it has. Returns the number of checkpoints."""
    bases.forget(text(thread, "thread"))
    freed, at = 0, 0
    while at >= 0:
        done: Freed = yield DeleteThread(thread)
        freed, at = freed + done.count, done.next
    return freed


def delete_job(bases: Bases, job_id: str) -> Call[None]:
    """Delete an ended job, and its own thread."""
    row: JobRow = yield ReadJob(checked(job_id))
    yield DeleteJob(row.id)
    if row.thread == row.id:
        with suppress(ThreadBusy):  # another job was submitted to it, and owns it now
            yield from delete(bases, row.thread)


def prune_jobs(older_than: Duration) -> Call[int]:
    """Delete the jobs that ended long ago. Returns how many."""
    age = milliseconds(older_than, "older_than")
    ended, at = 0, 0
    while at >= 0:
        done: Freed = yield PruneJobs(age, at)
        ended, at = ended + done.count, done.next
    return ended
