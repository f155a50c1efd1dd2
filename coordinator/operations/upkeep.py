"""Upkeep that any worker may do at any time."""

from __future__ import annotations

from ...contracts import event as kinds
from ...contracts.job import JobState
from ..commands import Reap, Reaped
from ..records import Records
from ..rows import JobRow
from .brood import cancel_left, make_staged
from .checkpoints import drop, forget, step
from .jobs import close, emit, enqueue, fail_late, free_slot, go_ahead, let_out, store, take_back

# In ms: at once, but not as what is due, such as a lease.
_SOON = 1


def reap(records: Records, command: Reap) -> Reaped:
    """Take back what dead workers held, and make ready what has come due."""
    late = records.overdue(command.limit)
    expired = records.expired_leases(command.limit) if command.leases else []
    due, ended = records.due_timers(command.limit), {row.id for row in late}
    gates = records.due_gates(command.limit, early=command.early)
    opening, closing = records.chores("opening", command.limit), records.chores("closing", command.limit)
    for overdue in late:
        row = records.job(overdue.id)  # read again: the end of a child changes its parent
        assert row is not None
        fail_late(records, row)
        store(records, row)
    moved = len(late)
    moved += sum(_take_back(records, row) for row in expired if row.id not in ended)
    moved += sum(_wake(records, row) for row in due if row.id not in ended)
    for lane in gates:
        records.drop_gate(lane)
        moved += let_out(records, lane)
    moved += make_staged(records, opening, command.limit)
    cancel_left(records, closing, command.limit)
    more = _drop_expired(records, command.limit)
    lapsed = records.expired_items(command.limit + 1)
    for name in lapsed[: command.limit]:
        records.drop_item(name)
    records.drop_old_streams(command.limit)
    records.drop_old_starts(command.limit)
    if command.presence:
        records.note_presence(command.worker, command.queues, records.now + command.presence)
    next_due = due_in(records)
    return Reaped(moved, _SOON if more and next_due else next_due, left=more or len(lapsed) > command.limit)


def _drop_expired(records: Records, limit: int) -> bool:
    """Free checkpoints whose time is over. A thread goes with its last one. Returns whether some are left, because they
    are too many for one command, or have too many spans."""
    expired = records.expired_checkpoints(limit + 1)
    rows = step(expired[:limit]).rows
    drop(records, rows)
    for thread in {row.thread for row in rows}:
        forget(records, thread)
    return len(rows) < len(expired)


def _take_back(records: Records, row: JobRow) -> int:
    """Take back a delivery whose lease has expired. Returns how many became ready or ended."""
    worker, token = row.worker, row.token
    close(row, "expired")
    how = f"worker {worker} let its lease expire"
    take_back(records, row, kinds.LEASE_EXPIRED, how, worker=worker, token=token)
    free_slot(records, row)
    store(records, row)
    return int(not row.due)


def _wake(records: Records, row: JobRow) -> int:
    """Make a job ready whose timer is due, or handle its unanswered question. Returns how many became ready."""
    moved = 1
    if row.state == JobState.INPUT_REQUIRED:
        moved = _overdue(records, row)
    else:
        enqueue(records, row, kinds.SUBMITTED, attempt=row.attempt)
    store(records, row)
    return moved


def due_in(records: Records) -> int:
    """In how many ms a reap will have something to do, -1 for nothing."""
    if records.chores("opening", 1) or records.chores("closing", 1):
        return 0
    next_due = records.next_due()
    return max(next_due - records.now, 0) if next_due else -1


def _overdue(records: Records, row: JobRow) -> bool:
    """Nobody has answered in time: ask the next person, or let the job go on. Returns whether it does."""
    steps = row.escalation.split("\n") if row.escalation else []
    if row.escalated < len(steps):
        wait, _, row.assignee = steps[row.escalated].partition(" ")
        row.escalated += 1
        row.due = records.now + int(wait)
        emit(records, kinds.ESCALATED, row, assignee=row.assignee, due=row.due)
        return False
    if row.otherwise:
        row.answer, row.answered = row.otherwise, f"{row.asked} default"
        go_ahead(records, row, kinds.ANSWERED, by="default")
    else:
        row.answered = f"{row.asked} timeout"
        go_ahead(records, row, kinds.UNANSWERED)
    return True
