"""Brood: the children of fan-outs. They are made, and canceled when nobody waits for them any more."""

from __future__ import annotations

from collections.abc import Sequence

from ...contracts import event as kinds
from ...contracts.job import ENDED, JobState
from ..commands import Child
from ..records import Records
from ..rows import JobRow, ThreadRow
from .jobs import end_canceled, enqueue, retry, tell_parent


def make(records: Records, parent: JobRow, children: Sequence[Child]) -> int:
    """Make children. Those that exist go on (if they failed or were canceled, they are retried), or count as they
    ended, last, because that may decide the fan-out. Returns how many became ready."""
    made, ended = 0, list[JobRow]()
    for child in children:
        row = records.job(child.job_id)
        if row is None:
            _make(records, parent, child)
            made += 1
            continue
        row.brood = parent.fan
        if row.state in (JobState.FAILED, JobState.CANCELED) and not records.thread(row.thread).job:
            retry(records, row, child.target if child.target.agent == row.agent else None)
            made += 1
        else:
            records.put_job(row)
            ended += [row] if row.state in ENDED else []
    for row in ended:
        tell_parent(records, row)
    return made


def _make(records: Records, parent: JobRow, child: Child) -> None:
    to = child.target
    row = JobRow(
        id=child.job_id,
        thread=child.job_id,
        agent=to.agent,
        contract=to.contract,
        queue=to.queue,
        envelope=to.envelope,
        parent=parent.id,
        brood=parent.fan,
        number=child.number,
        priority=parent.priority,
        lane=to.lane,
        created=records.now,
        updated=records.now,
    )
    enqueue(records, row, kinds.SUBMITTED, parent=parent.id)
    records.put_thread(ThreadRow(row.thread, job=row.id))
    records.add_job(row)


def make_staged(records: Records, parents: list[str], limit: int) -> int:
    """Make staged children of these parents, in order. Returns how many became ready."""
    made = 0
    for job_id in parents:
        row = records.job(job_id)
        children = records.staged(job_id, limit)
        limit -= len(children)
        records.unstage(job_id, len(children))
        if not records.count_staged(job_id):
            records.drop_chore("opening", job_id)
        if children:
            assert row is not None
            made += make(records, row, children)
    return made


def cancel_left(records: Records, fans: list[str], limit: int) -> None:
    """Cancel children that nobody waits for any more."""
    done = 0
    for fan in fans:
        for each in records.unfinished(fan, limit - done):
            end_canceled(records, records.job(each.id) or each)  # the end of the one before may have changed it
            done += 1
        if not records.unfinished(fan, 1):
            records.drop_chore("closing", fan)
