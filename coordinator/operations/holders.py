"""What the holder of a lease does. All but `claim` carry the lease, and are refused if it is over."""

from __future__ import annotations

from dataclasses import replace

from ...contracts import event as kinds
from ...contracts.job import SLEEPING
from ..commands import (
    SPENT,
    Claim,
    Claimed,
    Complete,
    Fail,
    Fence,
    HandOff,
    Heartbeat,
    Limits,
    NewCheckpoint,
    Record,
    Release,
    Sleep,
    Suspend,
)
from ..records import Records
from ..refusals import refusal
from ..rows import Delivery, JobRow
from .checkpoints import append, check_grounded, whole
from .jobs import address, close, counts, emit, end, enqueue, free_slot, go_ahead, held, holds, pause, store, take_back
from .lanes import Lane, find_lane, move_on, starts
from .pausing import is_paused
from .upkeep import due_in

# How many deliveries of a queue a claim looks at.
_LOOKED = 500


def claim(records: Records, command: Claim) -> Claimed:
    """Lease ready deliveries, queue by queue."""
    leases, lanes = list(command.leases), dict[str, Lane]()
    deliveries = Claimed()
    for queue, duration in command.queues:
        limits, after, looked = command.limits.get(queue), 0, 0
        while leases and looked < _LOOKED and (rows := records.ready(queue, len(leases), after)):
            if not after and is_paused(records, rows[0].agent):
                break  # all in a queue are one agent's
            looked += len(rows)
            for row in rows:
                after = row.ready
                if _waited_for(records, row) and _may_start(records, row, limits, lanes):
                    deliveries.append(_leased(records, row, command.worker, leases.pop(0), duration))
    for lane in lanes.values():
        move_on(records, lane)
    if leases:
        deliveries.due = due_in(records)
    return deliveries


def _waited_for(records: Records, row: JobRow) -> bool:
    """Whether a job is no child, or a child that its parent still waits for."""
    parent = records.job(row.parent) if row.brood else None
    return not row.brood or (parent is not None and counts(parent, row))


def _may_start(records: Records, row: JobRow, limits: Limits | None, lanes: dict[str, Lane]) -> bool:
    if limits is None and not row.slot:
        return True
    name = row.slot or row.lane or (limits.lane if limits else "")
    lane = lanes[name] = lanes.get(name) or find_lane(records, name, limits)
    return starts(records, lane, row)


def _leased(records: Records, row: JobRow, worker: str, lease: str, duration: int) -> Delivery:
    if row.token:
        records.unstage(row.id)
    if row.failing < 0:
        row.failing += records.now
    row.state, row.reason, row.ready, row.expires = "working", "", 0, 0
    row.lease, row.worker = lease, worker
    # A token from the clock is greater than any that the store had given before it lost its last writes.
    row.token = max(row.token + 1, records.now)
    row.lease_until = records.now + duration
    emit(records, kinds.STARTED, row, worker=row.worker, token=row.token, attempt=row.attempt)
    store(records, row)
    checkpoint = records.checkpoint(row.tip) if row.tip else None
    tip = replace(whole(records, checkpoint), name="") if checkpoint else None
    return Delivery(row, tip, records.journal(row.id))


def heartbeat(records: Records, command: Heartbeat) -> list[str]:
    """Renew each lease that is still held, even if it has expired, as long as nobody has taken over."""
    answers: list[str] = []
    for fence, duration in command.leases:
        row = records.job(fence.job_id)
        if row is None or row.lease != fence.lease_id or row.token != fence.token:
            answers.append("canceled" if row is not None and row.state == "canceled" else "lost")
            continue
        row.lease_until = records.now + duration
        records.put_job(row)
        answers.append("")
    return answers


def record(records: Records, command: Record) -> None:
    """Add to the hop's journal."""
    if row := held(records, command.fence):
        records.put_journal(row.id, command.records)


def hand_off(records: Records, command: HandOff) -> None:
    """The job goes on at another agent, as a new hop."""
    row = closing(records, command.fence, "hand_off", command.checkpoint)
    if row is None:
        return
    sender, target = row.agent, command.target
    records.drop_journal(row.id)
    records.drop_outcomes(row.id)
    if command.spent:
        records.put_journal(row.id, {SPENT: command.spent})
    address(row, target)
    row.hop, row.attempt, row.crashes = row.hop + 1, 1, 0
    row.failing = 0
    row.question = row.answer = b""
    row.error = row.fan = ""
    enqueue(records, row, kinds.HANDED_OFF, sender=sender, checkpoint=row.tip, **target.about)
    free_slot(records, row)
    store(records, row)


def complete(records: Records, command: Complete) -> None:
    """The job ends with its result."""
    row = closing(records, command.fence, "complete", command.checkpoint)
    if row is None:
        return
    row.result, row.error = command.result, ""
    end(records, row, "completed", "")
    emit(records, kinds.COMPLETED, row, checkpoint=row.tip)
    store(records, row)


def fail(records: Records, command: Fail) -> None:
    """The attempt failed: the next one gets a timer, or the job ends."""
    row = closing(records, command.fence, "fail", None)
    if row is None:
        return
    row.error = command.error
    if command.retry_in is not None:
        row.failing = row.failing or records.now
        row.state, row.reason = "submitted", "retry_at"
        row.attempt += 1
        row.due = records.now + max(command.retry_in, 1)
        emit(records, kinds.RETRYING, row, attempt=row.attempt, due=row.due, error=row.error)
    else:
        end(records, row, command.state, command.reason, spent=command.spent)
        kind = kinds.REJECTED if command.state == "rejected" else kinds.FAILED
        emit(records, kind, row, reason=command.reason, error=row.error)
    free_slot(records, row)
    store(records, row)


def suspend(records: Records, command: Suspend) -> None:
    """The job waits for an answer, without a lease."""
    row = closing(records, command.fence, "suspend", command.checkpoint)
    if row is None:
        return
    row.state, row.reason = "input_required", "question"
    pause(records, row)
    row.asked = max(records.now, row.asked + 1)  # no question of the job has the name of another one
    row.question, row.terms, row.answer = command.question, command.terms, b""
    row.otherwise = command.otherwise
    until, line, later = row.escalation.partition("\n")
    if command.again and line and until.isdecimal():
        row.due, row.escalation = int(until), later
    else:
        row.assignee, row.escalation, row.escalated = command.assignee, command.escalation, 0
        row.due = records.now + command.timeout if command.timeout else 0
    emit(records, kinds.SUSPENDED, row, checkpoint=row.tip, assignee=row.assignee, due=row.due or "")
    free_slot(records, row)
    store(records, row)


def sleep(records: Records, command: Sleep) -> None:
    """The job waits for a time, without a lease. It has come this far, so its attempts are counted anew."""
    row = closing(records, command.fence, "sleep", command.checkpoint)
    if row is None:
        return
    row.state, row.reason = "submitted", SLEEPING
    row.attempt, row.crashes, row.failing, row.error = 1, 0, 0, ""
    row.due = records.now + max(command.delay, 1)
    emit(records, kinds.SLEEPING, row, checkpoint=row.tip, due=row.due)
    free_slot(records, row)
    store(records, row)


def release(records: Records, command: Release) -> None:
    """The delivery goes back to its queue."""
    row = records.job(command.fence.job_id)
    if command.cut_off and row and _is_late(command.fence, row):
        row.closed, row.crashes = f"release {command.fence.lease_id}", row.crashes - 1
        store(records, row)
        return
    worker = row.worker if row else ""
    row = closing(records, command.fence, "release", None)
    if row is None:
        return
    if command.crash:
        take_back(records, row, kinds.CRASHED, command.crash, worker=worker, token=row.token, error=command.crash)
    elif command.aside:
        enqueue(records, row, kinds.RELEASED)
    else:
        go_ahead(records, row, kinds.RELEASED)
    free_slot(records, row)
    store(records, row)


def _is_late(fence: Fence, row: JobRow) -> bool:
    """Whether the lease has expired, and its holder says so now, which could not reach the store before."""
    return not holds(fence, row) and row.state != "failed" and row.closed == f"expired {fence.lease_id}"


def closing(records: Records, fence: Fence, operation: str, last: NewCheckpoint | None) -> JobRow | None:
    """The held job, with its last checkpoint saved and its lease ended. None if that was done before."""
    row = held(records, fence, operation)
    if row is None:
        return None
    if last is not None and last.thread != row.thread:
        raise refusal("thread", last.id)
    check_grounded(records, last)
    if last is not None:
        thread = records.thread(row.thread)
        append(records, thread, last, row.tip)
        records.put_thread(thread)
        row.tip = last.id
        emit(records, kinds.SAVED, row, checkpoint=row.tip, step=last.step)
    close(row, operation)
    return row
