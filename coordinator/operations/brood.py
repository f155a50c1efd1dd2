"""Brood: the children of fan-outs. They are made, and canceled when nobody waits for them any more."""

from __future__ import annotations

from ...contracts import event as kinds
from ..commands import Child
from ..records import Records
from ..rows import JobRow, ThreadRow
from .jobs import end_canceled, enqueue


def make(records: Records, parent: JobRow, child: Child) -> None:
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
    """Make staged children of these parents, in order. Returns how many."""
    made = 0
    for job_id in parents:
        row = records.job(job_id)
        children = records.staged(job_id, limit - made)
        for child in children:
            assert row is not None
            make(records, row, child)
        records.unstage(job_id, len(children))
        made += len(children)
        if not records.count_staged(job_id):
            records.drop_chore("opening", job_id)
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
