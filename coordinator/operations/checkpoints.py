"""Saving and expiring checkpoints."""

from __future__ import annotations

from ...contracts import event as kinds
from ..commands import Expire, NewCheckpoint, Save
from ..records import Records
from ..refusals import refusal
from ..rows import CheckpointRow, CommitLine, ThreadRow
from ..seals import read_commit, seal
from .jobs import announce, emit, held, store


def save(records: Records, command: Save) -> CommitLine:
    """Commit a checkpoint; the same one again answers what the first time did."""
    row = held(records, command.fence) if command.fence else None
    there = records.checkpoint(command.checkpoint.id)
    if there is not None:
        return read_commit(there.commit, there.id)
    thread = records.thread(row.thread if row else command.thread)
    if row is None:
        _check_free(records, thread, command)
    parent = row.tip if row else command.parent or thread.tip
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


def append(records: Records, thread: ThreadRow, checkpoint: NewCheckpoint, parent: str) -> CommitLine:
    """Add a checkpoint at the thread's tip. The caller puts the thread back."""
    now = records.now
    expires = now + checkpoint.ttl if checkpoint.ttl else 0
    commit = seal(checkpoint.header, thread.count, parent, now, expires)
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
    thread.tip = checkpoint.id
    thread.count += 1
    return commit


def _check_free(records: Records, thread: ThreadRow, command: Save) -> None:
    if thread.job:
        raise refusal("busy", thread.name, thread.job)
    if not command.parent:
        return
    if records.checkpoint(command.parent) is None:
        raise refusal("no_checkpoint", command.parent)
    if command.parent != thread.tip and not command.branch:
        raise refusal("moved", command.parent, thread.tip or "none")


def expire(records: Records, command: Expire) -> None:
    """Delete one checkpoint. The thread's tip falls back to the newest that is left."""
    row = records.checkpoint(command.checkpoint_id)
    if row is None:
        raise refusal("no_checkpoint", command.checkpoint_id)
    thread = records.thread(row.thread)
    job = records.job(thread.job) if thread.job else None
    if job is not None and job.tip == row.id:
        raise refusal("needed", row.id, job.id)
    drop(records, row)


def drop(records: Records, row: CheckpointRow) -> None:
    """Free a checkpoint that nothing resumes from."""
    records.drop_checkpoint(row.id)
    thread = records.thread(row.thread)
    if thread.tip == row.id:
        left = records.checkpoints(row.thread, 1, "")
        thread.tip = left[0].id if left else ""
        records.put_thread(thread)
    announce(records, kinds.EXPIRED, thread.job or row.thread, checkpoint=row.id)
