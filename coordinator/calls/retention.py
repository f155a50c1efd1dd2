"""Retention: calls that delete what is old or unwanted. Each step frees about a hundred."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, Corrupted, ThreadBusy
from ..branching import needed_by
from ..commands import Command, DeleteJob, DeleteThread, Freed, Prune, PruneJobs, ReadJob, Threads
from ..parts.bases import Bases
from ..rows import JobRow, PlaceRow
from ..snapshots import open_summary
from . import Call, places
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
        if rows := (yield from places.every(name, whole=False)):
            freed += yield from _prune_placed(name, rows, keep_last, age, keep_named)
        at = -1 if rows else 0
        while at >= 0:
            done: Freed = yield Prune(name, keep_last or 0, age, keep_named, at)
            freed, at = freed + done.count, done.next
    return freed


def _prune_placed(
    thread: str, rows: Sequence[PlaceRow], keep_last: int | None, age: int, keep_named: bool
) -> Call[int]:
    """The same for a thread in which a framework finds its checkpoints itself. `rows` are they, the newest first.

    Those of inner scopes (a subgraph's) are not counted. The ones saved since the newest of the outermost scope are
    where the framework goes on from: it needs that one and the latest of each scope, or none.
    """
    outer = [row for row in rows if not row.place.scope]
    newest = rows.index(outer[0]) if outer else len(rows)
    last = {row.checkpoint.id for row in outer[: keep_last or 0]}
    young = time.time() - age / 1000  # by this machine's clock: ages are days, and clocks differ by seconds
    stays = {
        row.checkpoint.id: row
        for row in rows
        if row.checkpoint.id in last or (age and _created(row) > young) or (keep_named and row.checkpoint.name)
    }
    if any(row.checkpoint.id in stays for row in rows[: newest + 1]):
        latest = {row.place.scope: row for row in reversed(rows[: newest + 1])}
        stays |= {row.checkpoint.id: row for row in latest.values()}
    readable = [row for row in stays.values() if _created(row)]
    kept = stays.keys() | (yield from needed_by(thread, rows, readable))
    return (yield from places.drop(thread, [row.checkpoint.id for row in rows if row.checkpoint.id not in kept]))


def _created(row: PlaceRow) -> float:
    """When a checkpoint was saved, in seconds. 0 for one that can't be read."""
    try:
        return open_summary(row.checkpoint).created_at.timestamp()
    except Corrupted:
        return 0


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
