"""Upkeep that any worker may do at any time."""

from __future__ import annotations

from ...contracts import event as kinds
from ..commands import Reap, Reaped
from ..records import Records
from .checkpoints import drop
from .jobs import enqueue, fail_poisoned, store

# Workers that may die over one hop before the job is parked: enough to survive a bad deploy, few enough to end.
POISON = 10


def reap(records: Records, command: Reap) -> Reaped:
    """Bring back what dead workers left and what has come due."""
    moved = 0
    for row in records.expired_leases(command.limit):
        worker, token = row.worker, row.token
        row.crashes += 1
        row.lease = row.worker = row.closed = ""
        row.lease_until = 0
        if row.crashes >= POISON:
            fail_poisoned(records, row)
        else:
            enqueue(records, row, kinds.LEASE_EXPIRED, worker=worker, token=token)
        store(records, row)
        moved += 1
    for row in records.due_timers(command.limit):
        enqueue(records, row, kinds.SUBMITTED, attempt=row.attempt)
        store(records, row)
        moved += 1
    drop(records, records.expired_checkpoints(command.limit))
    for name in records.expired_items(command.limit):
        records.drop_item(name)
    records.drop_old_streams(command.limit)
    if command.presence:
        records.note_presence(command.worker, command.queues, records.now + command.presence)
    due = records.next_due()
    return Reaped(moved, max(due - records.now, 0) if due else -1)
