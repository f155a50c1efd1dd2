"""Saving and expiring checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...contracts import event as kinds
from ...contracts.errors import Corrupted
from ..commands import Expire, NewCheckpoint, Save
from ..parts.spans import Span, read_spans
from ..records import Records
from ..refusals import refusal
from ..rows import CheckpointRow, CommitLine, ThreadRow
from ..seals import read_commit, seal
from .jobs import announce, emit, held, living_tip, store

# How many of the jobs in a thread's line are looked at.
_TURNS = 500
# A command frees checkpoints of this many spans in all, or a few more. One that was compacted may have hundreds.
MOST_SPANS = 500


def save(records: Records, command: Save) -> CommitLine:
    """Commit a checkpoint. The same checkpoint again returns what the first time did."""
    row = held(records, command.fence) if command.fence else None
    there = records.checkpoint(command.checkpoint.id)
    if there is not None:
        return read_commit(there.commit, there.id)
    thread = records.thread(row.thread if row else command.thread)
    if row is None:
        _check_free(records, thread, command)
    elif command.checkpoint.thread != row.thread:
        raise refusal("thread", command.checkpoint.id)
    check_grounded(records, command.checkpoint)
    parent = row.tip if row else command.parent or living_tip(records, thread)
    commit = append(records, thread, command.checkpoint, parent)
    if row is None:
        records.put_thread(thread)
        new = command.checkpoint
        announce(records, kinds.SAVED, thread.name, agent=new.agent, checkpoint=new.id, step=new.step)
        return commit
    row.tip = thread.tip
    records.put_thread(thread)
    if command.records:
        records.put_journal(row.id, command.records)
    emit(records, kinds.SAVED, row, checkpoint=row.tip, step=command.checkpoint.step)
    store(records, row)
    return commit


def append(records: Records, thread: ThreadRow, checkpoint: NewCheckpoint, parent: str, created: int = 0) -> CommitLine:
    """Add a checkpoint at the thread's tip. The caller puts the thread back."""
    commit, replaced = add(records, thread, checkpoint, parent, created)
    thread.tip = checkpoint.id
    free(records, replaced)
    return commit


def add(
    records: Records, thread: ThreadRow, checkpoint: NewCheckpoint, parent: str, created: int = 0
) -> tuple[CommitLine, list[CheckpointRow]]:
    """Add a checkpoint to a thread, as of now if no time is given. Returns the checkpoint that was at its place, for
    the caller to free. The caller stores the thread."""
    now = created or records.now
    expires = now + checkpoint.ttl if checkpoint.ttl else 0
    commit = seal(checkpoint.id, checkpoint.header, thread.count, parent, now, expires, checkpoint.spans)
    commit.place = checkpoint.place
    for append_ in checkpoint.appends:
        records.append_log(append_)
    for span in read_spans(checkpoint.spans):
        records.use(span)
    records.add_checkpoint(
        CheckpointRow(
            id=checkpoint.id,
            thread=thread.name,
            header=checkpoint.header,
            commit=commit.line(),
            state=checkpoint.state,
            native=checkpoint.native,
        ),
        commit.step_index,
        expires,
    )
    thread.count += 1
    if checkpoint.place is None:
        return commit, []
    replaced = records.put_place(thread.name, checkpoint.place, checkpoint.id, commit.step_index)
    if replaced and thread.tip == replaced:
        thread.tip = checkpoint.id
    row = records.checkpoint(replaced) if replaced else None
    return commit, [row] if row else []


def check_grounded(records: Records, checkpoint: NewCheckpoint | None) -> None:
    """Refuse a checkpoint if what it shares is not there: its base is gone, or its logs have grown otherwise."""
    if checkpoint is None or not checkpoint.spans:
        return
    if checkpoint.base and not records.has_checkpoint(checkpoint.base):
        raise refusal("ungrounded", checkpoint.base)
    if any(records.log_length(append.log) != append.at for append in checkpoint.appends):
        raise refusal("ungrounded", checkpoint.base)


def whole(records: Records, row: CheckpointRow) -> CheckpointRow:
    """A checkpoint with what its spans hold."""
    return replace(row, bodies=tuple([records.read_log(span) for span in spans_of(row)]))


def spans_of(row: CheckpointRow) -> list[Span]:
    """The spans that a stored checkpoint uses. A damaged one gives none, and its reader notices."""
    if row.commit.split(" ", 5)[4:5] == ["-"]:
        return []
    try:
        return read_spans(read_commit(row.commit, row.id).spans)
    except Corrupted:
        return []


def _check_free(records: Records, thread: ThreadRow, command: Save) -> None:
    if thread.job:
        raise refusal("busy", thread.name, thread.job)
    if not command.parent:
        return
    if not records.has_checkpoint(command.parent):
        raise refusal("no_checkpoint", command.parent)
    if not command.branch and not (command.parent == thread.tip and records.is_living(thread.tip)):
        newest = records.checkpoints(thread.name, 1, "")  # the tip may have expired
        if not newest or newest[0].id != command.parent:
            raise refusal("moved", command.parent, living_tip(records, thread) or "none")


def expire(records: Records, command: Expire) -> None:
    """Delete one checkpoint. The thread's tip goes back to the newest one left."""
    row = records.checkpoint(command.checkpoint_id)
    if row is None:
        raise refusal("no_checkpoint", command.checkpoint_id)
    if job_id := needed_on(records, row.thread).get(row.id):
        raise refusal("needed", row.id, job_id)
    drop(records, [row])


def needed_on(records: Records, thread: str) -> dict[str, str]:
    """What the jobs that run on a thread, or are first in its line, will go on from: checkpoint -> job."""
    jobs = (records.job(each) for each in [*records.turns(thread, _TURNS), records.thread(thread).job] if each)
    return {job.tip: job.id for job in jobs if job is not None and job.tip}


def drop(records: Records, rows: Sequence[CheckpointRow]) -> None:
    """Free the checkpoints that nothing resumes from, and emit that for each."""
    free(records, rows)
    for row in rows:
        announce(records, kinds.EXPIRED, records.thread(row.thread).job or row.thread, checkpoint=row.id)


def forget(records: Records, thread: str) -> None:
    """Remove all traces of a thread that has no checkpoints and no jobs left."""
    left = records.line(thread, 0, 1) or records.places(thread, 1) or records.jobs_on(thread, 1)
    if not left and records.has_thread(thread):
        records.drop_thread(thread)


class Step(NamedTuple):
    """What one command frees: how many spans more it may, and the first checkpoint that it leaves for the next."""

    rows: list[CheckpointRow]
    left: int
    onward: CheckpointRow | None


def step(rows: Iterable[CheckpointRow], left: int = MOST_SPANS) -> Step:
    """The first of these, as far as they have no more spans than are left. The others are not looked at."""
    first: list[CheckpointRow] = []
    for row in rows:
        if left <= 0:
            return Step(first, left, row)
        first.append(row)
        left -= len(spans_of(row))
    return Step(first, left, None)


def free(records: Records, rows: Sequence[CheckpointRow]) -> None:
    """Free checkpoints, what was written at their places, and what only they used."""
    let_go(records, [span for row in rows for span in [*spans_of(row), *_take_away(records, row)]])


def let_go(records: Records, spans: Iterable[Span]) -> None:
    """Count one user less for each of these spans, and free what nobody uses any more."""
    dropped: dict[str, list[Span]] = {}
    for span in spans:
        if records.disuse(span) and not records.grown(span):
            dropped.setdefault(span.log, []).append(span)
    for log, of_log in dropped.items():
        used = records.used(log)
        for span in of_log:
            records.free_log(span, used)


def _take_away(records: Records, row: CheckpointRow) -> list[Span]:
    """Drop a checkpoint. Returns the spans that it and what was written at its place used."""
    spans = _vacate(records, row)
    records.drop_checkpoint(row.id)
    thread = records.thread(row.thread)
    if thread.tip == row.id:
        left = records.checkpoints(row.thread, 1, "")
        thread.tip = left[0].id if left else ""
        records.put_thread(thread)
    return spans


def _vacate(records: Records, row: CheckpointRow) -> list[Span]:
    """Remove a checkpoint's place, unless another one is there. Returns the spans of what was written there."""
    try:
        place = read_commit(row.commit, row.id).place
    except Corrupted:
        where = records.place_of(row)
    else:
        if place is None:
            return []
        where = (place.scope, place.key)
        if records.place(row.thread, *where) != row.id:
            where = records.place_of(row)
    dropped = records.drop_place(row.thread, *where) if where else []
    return [span for spans in dropped for span in read_spans(spans)]
