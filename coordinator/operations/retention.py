"""Retention: deletes what is old or unwanted, with everything that only it used."""

from __future__ import annotations

from collections.abc import Sequence

from ...contracts import event as kinds
from ...contracts.errors import Corrupted
from ...contracts.job import ENDED
from ..commands import DeleteJob, DeleteThread, Drop, Freed, Prune, PruneJobs
from ..parts.spans import read_spans
from ..records import Records
from ..refusals import refusal
from ..rows import CheckpointRow, JobRow, ThreadRow
from ..seals import read_commit
from .checkpoints import MOST_SPANS, forget, free, let_go, needed_on, spans_of, step
from .jobs import announce, emit

# How many jobs of one thread are deleted at once.
_JOBS = 500


def prune(records: Records, command: Prune) -> Freed:
    """Free the old checkpoints of a thread."""
    thread = records.thread(command.thread)
    needed = {*needed_on(records, thread.name), *command.kept}
    edge = records.nth_newest(thread.name, command.keep_last) if command.keep_last else 2**62
    line = records.line(thread.name, command.start, command.limit)
    looked = [(index, row) for index, row in line if edge is not None and index < edge]
    found = (
        row
        for _, row in looked
        if not _has_place(row)
        and _created(row) <= records.now - command.older_than
        and row.id not in needed
        and not (command.keep_named and row.name)
    )
    old, _, onward = step(found)
    _free(records, thread, old)
    if onward:
        return Freed(len(old), next(index for index, row in looked if row is onward))
    return Freed(len(old), looked[-1][0] + 1 if len(looked) == command.limit else -1)


def drop(records: Records, command: Drop) -> Freed:
    """Free these checkpoints of a thread, in order, and skip those that are gone or needed."""
    thread = records.thread(command.thread)
    needed = needed_on(records, thread.name)
    found = (records.checkpoint(id_) for id_ in dict.fromkeys(command.checkpoints))
    old, _, onward = step(row for row in found if row and row.thread == thread.name and row.id not in needed)
    _free(records, thread, old)
    return Freed(len(old), command.checkpoints.index(onward.id) if onward else -1)


def _free(records: Records, thread: ThreadRow, old: Sequence[CheckpointRow]) -> None:
    if old:
        free(records, old)
        announce(records, kinds.PRUNED, thread.job or thread.name, freed=len(old))
    forget(records, thread.name)


def delete_thread(records: Records, command: DeleteThread) -> Freed:
    """Delete a thread that no job runs on, part by part."""
    thread = records.thread(command.thread)
    if thread.job:
        raise refusal("busy", thread.name, thread.job)
    if command.placed:
        return _clear_places(records, thread.name, command.limit)
    freed, done, _ = _clear(records, thread.name, command.limit)
    return Freed(freed, -1 if done else 0)


def delete_job(records: Records, command: DeleteJob) -> None:
    """Delete an ended job's record."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    if row.state not in ENDED:
        raise refusal("unended", row.id, row.state)
    _drop_job(records, row)
    forget(records, row.thread)


def prune_jobs(records: Records, command: PruneJobs) -> Freed:
    """Delete jobs that ended long ago, each with its own thread, unless that is still of use."""
    rows = records.oldest_jobs(command.start, command.limit)
    cutoff = records.now - command.older_than
    ended, kept, budget, left = 0, 0, command.limit, MOST_SPANS
    for row in rows:
        if row.created > cutoff:  # it and all that follow can't have ended before
            return Freed(ended)
        own = row.thread == row.id and len(records.jobs_on(row.id, 2)) == 1
        if row.state not in ENDED or row.updated > cutoff or (own and _of_use(records, row.id, cutoff)):
            kept += 1
            continue
        freed, done = 0, budget > 0 and left > 0
        if done and own:
            freed, done, left = _clear(records, row.thread, budget, left)
        elif done:
            _drop_job(records, row)
            forget(records, row.thread)
        if not done:
            return Freed(ended, command.start + kept)
        ended += 1
        budget -= freed + 1
    return Freed(ended, command.start + kept if len(rows) == command.limit else -1)


def _of_use(records: Records, thread: str, cutoff: int) -> bool:
    """Whether a thread has a named checkpoint, or one saved since the cutoff."""
    newest = records.checkpoints(thread, 1, "")
    return records.count_names(thread) > 0 or bool(newest and _created(newest[0]) > cutoff)


def _has_place(row: CheckpointRow) -> bool:
    """Whether a framework finds it itself: then it may need more than the newest."""
    try:
        return read_commit(row.commit, row.id).place is not None
    except Corrupted:
        return False


def _created(row: CheckpointRow) -> int:
    """When a checkpoint was saved. One that can't be read counts as old."""
    try:
        return read_commit(row.commit, row.id).created
    except Corrupted:
        return 0


def _clear(records: Records, name: str, limit: int, left: int = MOST_SPANS) -> tuple[int, bool, int]:
    """Free a thread's oldest checkpoints, as far as they have no more spans than are left. With the last one go its
    jobs and the thread. Returns how many were freed, whether all is gone, and how many spans are left."""
    rows, left, _ = step((row for _, row in records.line(name, 0, limit)), left)
    free(records, rows)
    if records.line(name, 0, 1):
        return len(rows), False, left
    written = [spans for where in records.places(name, limit) for spans in records.drop_place(name, *where)]
    let_go(records, [span for spans in written for span in read_spans(spans)])
    if records.places(name, 1):
        return len(rows), False, left
    for row in records.jobs_on(name, _JOBS):
        _drop_job(records, row)
    if records.jobs_on(name, 1):
        return len(rows), False, left
    if records.has_thread(name):
        records.drop_thread(name)
        announce(records, kinds.THREAD_DELETED, name)
    return len(rows), True, left


def _clear_places(records: Records, name: str, limit: int) -> Freed:
    """Free what is at a thread's first places, as far as its checkpoints don't have too many spans. With the last one
    goes the thread, unless it has a job, or a checkpoint without a place."""
    rows, left = list[CheckpointRow](), MOST_SPANS
    for scope, key in records.places(name, limit):
        if left <= 0:
            break
        row = records.checkpoint(records.place(name, scope, key))
        if row is None:
            spans = [span for each in records.drop_place(name, scope, key) for span in read_spans(each)]
            let_go(records, spans)
        else:
            rows.append(row)
            left -= len(spans_of(row))
    free(records, rows)
    onward = bool(records.places(name, 1))
    if not onward and records.has_thread(name) and not (records.line(name, 0, 1) or records.jobs_on(name, 1)):
        records.drop_thread(name)
        announce(records, kinds.THREAD_DELETED, name)
    elif rows:
        announce(records, kinds.PRUNED, name, freed=len(rows))
    return Freed(len(rows), 0 if onward else -1)


def _drop_job(records: Records, row: JobRow) -> None:
    records.drop_job(row.id)
    records.drop_journal(row.id)
    records.drop_outcomes(row.id)
    records.drop_stream(row.id)
    if row.idem:
        records.drop_first_use(row.idem, row.id)
    emit(records, kinds.JOB_DELETED, row)
