"""Retention: calls that delete what is old or unwanted. Each step frees about a hundred."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, BatonpassError, Corrupted, ThreadBusy, Unavailable, Unpruned
from ..branching import pruner
from ..commands import DeleteJob, DeleteThread, Freed, Prune, PruneJobs, ReadJob, Threads, Timeline
from ..parts.bases import Bases
from ..rows import CheckpointRow, JobRow
from ..snapshots import open_summary
from . import Call, places
from .idle import only_idle
from .inputs import count, milliseconds, text
from .jobs import checked
from .lines import newest_of_each

_PAGE = 500
_TOLD = 5


def prune(thread: str | None, keep_last: int | None, older_than: Duration | None, keep_named: bool) -> Call[int]:
    """Free the old checkpoints of a thread, or of all threads. Returns how many. One of all that can't be pruned must
    not keep the others from it: `Unpruned` tells of it in the end."""
    if keep_last is None and older_than is None:
        raise BadSetup("prune needs keep_last= (how many of each thread stay), older_than= (seconds), or both")
    if keep_last is not None:
        count(keep_last, "keep_last")
    age = milliseconds(older_than, "older_than") if older_than is not None else 0
    if thread is not None:
        return (yield from _prune(text(thread, "thread"), keep_last or 0, age, keep_named))
    freed, failed = 0, dict[str, BatonpassError]()
    for name in (yield from _threads()):
        try:
            freed += yield from _prune(name, keep_last or 0, age, keep_named)
        except Unavailable:
            raise
        except BatonpassError as error:
            failed[name] = error
    if failed:
        raise Unpruned(_told(failed), failed=failed, freed=freed)
    return freed


def _told(failed: Mapping[str, BatonpassError]) -> str:
    told = "; ".join(f"{name!r}: {failed[name]}" for name in list(failed)[:_TOLD])
    more = f"; and {len(failed) - _TOLD} more" if len(failed) > _TOLD else ""
    return f"{len(failed)} thread(s) could not be pruned: {told}{more}"


def _prune(thread: str, last: int, age: int, named: bool) -> Call[int]:
    if (yield from places.page(thread, None, None, 1, whole=False)):
        return (yield from _prune_placed(thread, last, age, named))
    kept = tuple((yield from _of_agents(thread, last))) if last else ()
    freed, at = 0, 0
    while at >= 0:
        done: Freed = yield Prune(thread, last, age, named, at, kept=kept)
        freed, at = freed + done.count, done.next
    return freed


def _of_agents(thread: str, last: int) -> Call[list[str]]:
    """What agents with `memory="thread"` go on from, but for the newest checkpoints, which stay in any case."""
    every = yield from _timeline(thread)
    newest = {row.id for row in every[:last]}
    return sorted(newest_of_each(every, newest) - newest) if len(every) > last else []


def _prune_placed(thread: str, last: int, age: int, named: bool) -> Call[int]:
    """The same for a thread in which a framework finds its checkpoints itself.

    Those of inner scopes (a subgraph's) are not counted. The ones saved since the newest of the outermost scope are
    where the framework goes on from: it needs that one, the latest of each of their scopes, and the latest of each
    scope that lasts, or none. Checkpoints that a job saved on the thread by itself are counted apart.
    """
    every = yield from _timeline(thread)  # what is saved from here on is not looked at
    placed = yield from places.every(thread, whole=False)
    outer = [row.checkpoint for row in placed if not row.place.scope]
    newest = next((at for at, row in enumerate(placed) if not row.place.scope), len(placed))
    stays = _staying(outer, last, age, named)
    stays |= _staying([row.checkpoint for row in placed if row.place.scope], 0, age, named)
    rule = pruner(placed)
    if any(row.checkpoint.id in stays for row in placed[: newest + 1]):
        latest = {
            row.place.scope: row.checkpoint.id
            for at, row in reversed([*enumerate(placed)])
            if at <= newest or (rule and rule.lasts(row.place.scope))
        }
        stays |= set(latest.values())
    if rule is not None:
        readable = [row for row in placed if row.checkpoint.id in stays and _created(row.checkpoint)]
        stays |= yield from rule.needed(thread, placed, readable)
    found = {row.checkpoint.id for row in placed}
    stays |= _staying([row for row in every if row.id not in found], last, age, named)
    stays |= newest_of_each(every, stays) if last else set()
    return (yield from places.drop(thread, [row.id for row in every if row.id not in stays]))


def _staying(rows: Sequence[CheckpointRow], last: int, age: int, named: bool) -> set[str]:
    """Which of these, the newest first, stay for their own sake."""
    young = time.time() - age / 1000  # by this machine's clock: ages are days, and clocks differ by seconds
    return {
        row.id for at, row in enumerate(rows) if at < last or (age and _created(row) > young) or (named and row.name)
    }


def _timeline(thread: str) -> Call[list[CheckpointRow]]:
    """All checkpoints of a thread, the newest first."""
    rows: list[CheckpointRow] = []
    while True:
        page: list[CheckpointRow] = yield Timeline(thread, _PAGE, rows[-1].id if rows else "")
        rows += page
        if len(page) < _PAGE:
            return rows


def _created(row: CheckpointRow) -> float:
    """When a checkpoint was saved, in seconds. 0 for one that can't be read."""
    try:
        return open_summary(row).created_at.timestamp()
    except Corrupted:
        return 0


def _threads() -> Call[list[str]]:
    names: list[str] = []
    while True:
        page: list[str] = yield Threads(_PAGE, names[-1] if names else "")
        names += page
        if len(page) < _PAGE:
            return names


def delete(bases: Bases, thread: str, *, placed: bool = False) -> Call[int]:
    """Delete a thread with everything that only it has, or only what a framework has put at its places. Returns the
    number of checkpoints."""
    bases.forget(text(thread, "thread"))
    freed, at = 0, 0
    with only_idle(thread, "delete the thread"):
        while at >= 0:
            done: Freed = yield DeleteThread(thread, placed=placed)
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
