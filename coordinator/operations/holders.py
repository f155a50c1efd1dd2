"""What the holder of a lease does. All but `claim` carry the lease, and a lease that is over is refused."""

from __future__ import annotations

from dataclasses import replace

from ...contracts import event as kinds
from ..commands import Claim, Complete, Fail, Fence, HandOff, Heartbeat, NewCheckpoint, Record, Release, Suspend
from ..records import Records
from ..refusals import refusal
from ..rows import Delivery, JobRow
from .checkpoints import append, check_grounded, whole
from .jobs import close, counts, emit, end, enqueue, fail_poisoned, held, store
from .upkeep import POISON

# Deliveries of a queue that a claim looks at.
_LOOKED = 500


def claim(records: Records, command: Claim) -> list[Delivery]:
    """Lease ready deliveries, queue by queue."""
    leases = list(command.leases)
    deliveries: list[Delivery] = []
    for queue, duration in command.queues:
        for row in _ready(records, queue, len(leases)):
            if row.token:
                records.unstage(row.id)
            row.state, row.reason, row.ready, row.expires = "working", "", 0, 0
            row.lease, row.worker = leases.pop(0), command.worker
            # A token from the clock is greater than any that a store knew before it lost its last writes.
            row.token = max(row.token + 1, records.now)
            row.lease_until = records.now + duration
            emit(records, kinds.STARTED, row, worker=row.worker, token=row.token, attempt=row.attempt)
            store(records, row)
            checkpoint = records.checkpoint(row.tip) if row.tip else None
            tip = replace(whole(records, checkpoint), name="") if checkpoint else None
            deliveries.append(Delivery(row, tip, records.journal(row.id)))
        if not leases:
            break
    return deliveries


def _ready(records: Records, queue: str, wanted: int) -> list[JobRow]:
    """The first deliveries of a queue. A child that its parent does not wait for any more does not start."""
    found: list[JobRow] = []
    after = looked = 0
    while len(found) < wanted and looked < _LOOKED:
        rows = records.ready(queue, wanted - len(found), after)
        for row in rows:
            after = row.ready
            parent = records.job(row.parent) if row.brood else None
            if not row.brood or (parent is not None and counts(parent, row)):
                found.append(row)
        looked += len(rows)
        if not rows:
            break
    return found


def heartbeat(records: Records, command: Heartbeat) -> list[str]:
    """Renew each lease that is still held, also one that has expired and was not taken over."""
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
    row.agent, row.contract, row.queue, row.envelope = target.agent, target.contract, target.queue, target.envelope
    row.hop, row.attempt, row.crashes = row.hop + 1, 1, 0
    row.failing = 0
    row.question = row.answer = b""
    row.error = row.fan = ""
    enqueue(records, row, kinds.HANDED_OFF, sender=sender, checkpoint=row.tip, **target.about)
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
    """The attempt failed: the next one is timed, or the job ends."""
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
        end(records, row, command.state, command.reason)
        kind = kinds.REJECTED if command.state == "rejected" else kinds.FAILED
        emit(records, kind, row, reason=command.reason, error=row.error)
    store(records, row)


def suspend(records: Records, command: Suspend) -> None:
    """The job waits for an answer, and costs nothing meanwhile."""
    row = closing(records, command.fence, "suspend", command.checkpoint)
    if row is None:
        return
    row.state, row.reason = "input_required", "question"
    row.asked = max(records.now, row.asked + 1)  # no question of the job has the name of another one
    row.question, row.terms, row.answer = command.question, command.terms, b""
    row.assignee, row.otherwise = command.assignee, command.otherwise
    row.escalation, row.escalated = command.escalation, 0
    row.due = records.now + command.timeout if command.timeout else 0
    emit(records, kinds.SUSPENDED, row, checkpoint=row.tip, assignee=row.assignee, due=row.due or "")
    store(records, row)


def release(records: Records, command: Release) -> None:
    """The delivery goes back to its queue."""
    row = records.job(command.fence.job_id)
    worker = row.worker if row else ""
    row = closing(records, command.fence, "release", None)
    if row is None:
        return
    if not command.crash:
        enqueue(records, row, kinds.RELEASED)
    else:
        row.crashes += 1
        if row.crashes >= POISON:
            fail_poisoned(records, row)
        else:
            enqueue(records, row, kinds.CRASHED, worker=worker, token=row.token, error=command.crash)
    store(records, row)


def closing(records: Records, fence: Fence, operation: str, last: NewCheckpoint | None) -> JobRow | None:
    """The held job with its last checkpoint saved and its lease ended; None if that was done before."""
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
