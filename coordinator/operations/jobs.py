"""The moves that several operations share: holding, queueing, ending."""

from __future__ import annotations

from ...contracts import event as kinds
from ...contracts.job import CHILDREN, JobState
from ..commands import SPENT, Fence
from ..records import Records
from ..refusals import refusal
from ..rows import BEHIND, LATE, NEVER, JobRow, OutcomeRow

# Workers that may die over one hop before the job is parked: enough to survive a bad deploy, few enough to end.
POISON = 10
# So many have died when it may be the job that kills them: it goes ahead of others no more.
SUSPECT = 3
# As in reap.lua.
OVERDUE = {"expired": "no worker started it before it expired", "deadline": "it did not end before its deadline"}


def announce(records: Records, kind: str, subject: str, **fields: object) -> int:
    """Append an event; what is empty is left out."""
    texts = {name: str(value) for name, value in fields.items() if value not in ("", None)}
    return records.add_event({"type": kind, "subject": subject, **texts})


def emit(records: Records, kind: str, row: JobRow, **fields: object) -> int:
    """Append an event of a job."""
    return announce(records, kind, row.id, agent=row.agent, hop=row.hop, **fields)


def held(records: Records, fence: Fence, operation: str = "") -> JobRow | None:
    """The job that the fence holds; None if the same lease has ended its delivery by the same operation already."""
    row = records.job(fence.job_id)
    if row is None:
        raise refusal("no_job", fence.job_id)
    if row.lease == fence.lease_id and row.token == fence.token:
        return row
    if operation and row.closed == f"{operation} {fence.lease_id}":
        return None
    raise refusal("fenced", row.id, str(fence.token), row.state, row.worker, str(row.token))


def close(row: JobRow, operation: str) -> None:
    """End the job's delivery: its lease is over."""
    row.closed = f"{operation} {row.lease}"
    row.lease = row.worker = ""
    row.lease_until = 0


def pause(records: Records, row: JobRow) -> None:
    """The job waits for something from now on: that is no time in which it fails. The next claim goes on counting."""
    if row.failing > 0:
        row.failing = min(row.failing - records.now, 0)


def enqueue(records: Records, row: JobRow, kind: str, **fields: object) -> None:
    """Make the job deliverable. The event's number is its place in the queue."""
    row.state, row.reason, row.due = "submitted", "ready", 0
    row.ready = BEHIND + emit(records, kind, row, **fields)


def go_ahead(records: Records, row: JobRow, kind: str, **fields: object) -> None:
    """Make a job deliverable that had its turn, and has to go on or was held up for no fault of its own: ahead of
    those of its queue that wait for their turn. (A failed attempt is behind them: who keeps failing keeps nobody
    waiting.)"""
    enqueue(records, row, kind, **fields)
    row.ready -= BEHIND


def take_back(records: Records, row: JobRow, kind: str, **fields: object) -> None:
    """Make a job deliverable again that was lost with who ran it; it is parked if they keep dying."""
    row.crashes += 1
    if row.crashes >= POISON:
        row.error = f"{row.crashes} workers died or went silent while they ran this hop"
        end(records, row, "failed", "poison")
        emit(records, kinds.FAILED, row, reason="poison", error=row.error)
    elif row.crashes >= SUSPECT:
        enqueue(records, row, kind, **fields)
    else:
        go_ahead(records, row, kind, **fields)


def begin(records: Records, row: JobRow, **about: object) -> None:
    """Let the job's thread be its own. It goes on from its origin or from the thread's tip, now or when it is due."""
    thread = records.thread(row.thread)
    row.tip = row.began = row.tip or thread.tip
    thread.job = row.id
    records.put_thread(thread)
    if row.due > records.now:
        row.state, row.reason = "submitted", "scheduled"
        emit(records, kinds.SUBMITTED, row, due=row.due, **about)
    else:
        enqueue(records, row, kinds.SUBMITTED, **about)


def end(records: Records, row: JobRow, state: str, reason: str, *, heir: str = "", spent: bytes = b"") -> None:
    """Bring the job to an end: its key starts to age, its parent is told (what was `spent` is in the result's place),
    and its thread is the next one's that waits for it (with an `heir` the caller sees to that). Its journal is dropped,
    unless it may go on with that when it is redriven. Its parent may read how its own children ended."""
    if state != "completed":
        row.result = spent or records.journal(row.id).get(SPENT, row.result)
    waited, in_line = row.reason == "thread_busy", row.waits > 0
    row.state, row.reason, row.ready, row.due, row.waits = state, reason, 0, 0, 0
    records.unstage(row.id)
    if row.fan and not row.verdict:
        _decide(records, row, "cut")
    if row.brood:
        _tell_parent(records, row)
    elif row.parent and state == "completed":
        _make_good(records, row)
    if state != "failed":
        records.drop_journal(row.id)
        if state == "completed" or not (row.brood and row.fan):
            records.drop_outcomes(row.id)
    if row.idem:
        records.forget_first_use(row.idem, row.id, records.now + row.key_ttl)
    if waited:
        records.drop_turn(row.thread, row.id)
    elif not heir:
        _give_turn(records, row.thread)
    if in_line:
        records.put_job(row)
        close_line(records, row.lane)
    leave(records, row)


def leave(records: Records, row: JobRow) -> None:
    """A job's delivery is over: if it had a place in a lane (lanes.py), the first in the line there has."""
    name, row.slot = row.slot, ""
    if name and records.gate(name) in (0, NEVER):
        let_out(records, name)


def let_out(records: Records, lane: str) -> bool:
    """The first in a lane's line becomes ready. Whether there was one."""
    row = records.first_in_line(lane)
    if row is None:
        return False
    row.slot, row.waits = lane, 0
    go_ahead(records, row, kinds.SUBMITTED, attempt=row.attempt)
    store(records, row)
    close_line(records, lane)
    return True


def close_line(records: Records, lane: str) -> None:
    """A line in which nobody waits any more has no gate."""
    if records.first_in_line(lane) is None:
        records.drop_gate(lane)


def _give_turn(records: Records, name: str) -> None:
    thread = records.thread(name)
    thread.job = ""
    records.put_thread(thread)
    if following := records.job(records.next_turn(name)):
        records.drop_turn(name, following.id)
        begin(records, following)
        store(records, following)


def _tell_parent(records: Records, child: JobRow) -> None:
    """Count the end of a child. If that decides the fan-out its parent goes on. What is completed too late to count is
    kept for a parent that may fan out again, so that it is not done twice; of others that are late, what they spent."""
    row = records.job(child.parent)
    if row is None or row.fan != child.brood:
        return
    completed, result = child.state == "completed", child.result
    state, fan = child.state, "" if completed else child.fan
    if row.verdict and not (completed and row.verdict in ("broken", "cut") and _may_go_on(row)):
        if not ((result or fan) and (_may_go_on(row) or (row.brood and row.state != "completed"))):
            return
        state = f"{LATE} {state}"
    outcome = OutcomeRow(child.id, child.number, state, child.reason, child.error, result, fan)
    records.put_outcome(row.id, row.fan, outcome)
    if row.verdict:
        return
    row.done += completed
    row.lost += not completed
    _weigh(records, row, child)


def _make_good(records: Records, child: JobRow) -> None:
    """A child that was lost, and redriven, is completed: that counts for a parent that still waits, and is kept for one
    that is redriven. One that has been told that it was lost, and goes on with that, has no use for it."""
    row = records.job(child.parent)
    known = records.outcomes(row.id, row.fan, child.number, 1) if row else []
    if row is None or not known or known[0].job_id != child.id or not _is_open(row):
        return
    records.put_outcome(row.id, row.fan, OutcomeRow(child.id, child.number, child.state, result=child.result))
    if row.verdict:
        return
    row.done += 1
    row.lost -= 1
    _weigh(records, row, child)


def _weigh(records: Records, row: JobRow, child: JobRow) -> None:
    """Let the parent go on if what was counted decides its fan-out."""
    if row.lost > row.spare:
        verdict = "broken"
    elif row.done >= row.need or row.done + row.lost == row.children:
        verdict = "met"
    else:
        records.put_job(row)
        return
    _decide(records, row, verdict, child.id)
    go_ahead(records, row, kinds.JOINED, done=row.done, lost=row.lost)
    store(records, row)


def counts(parent: JobRow, child: JobRow) -> bool:
    """Whether a parent still waits for a child."""
    return parent.fan == child.brood and not parent.verdict


def _may_go_on(row: JobRow) -> bool:
    return row.state == "failed" or not JobState(row.state).ended


def _is_open(row: JobRow) -> bool:
    """Whether no run of the parent goes by how its children ended: it waits for them, or will fan out again."""
    broke = row.verdict == "broken" and row.state == "failed" and row.reason == CHILDREN
    return not row.verdict or broke or (row.verdict == "cut" and _may_go_on(row))


def _decide(records: Records, row: JobRow, verdict: str, ended: str = "") -> None:
    """A fan-out is over: children that are not made yet never are, those that have not ended are canceled by `reap`."""
    row.verdict = verdict
    records.unstage(row.id)
    records.drop_chore("opening", row.id)
    if any(child.id != ended for child in records.unfinished(row.fan, 2)):
        records.put_chore("closing", row.fan)


def end_canceled(records: Records, row: JobRow, *, heir: str = "") -> None:
    """End a job from outside, whoever holds it, for an heir or nobody."""
    worker = row.worker
    row.lease = row.worker = row.closed = ""
    row.lease_until = 0
    end(records, row, "canceled", "", heir=heir)
    emit(records, kinds.CANCELED, row, worker=worker, by=heir)
    store(records, row)


def fail_late(records: Records, row: JobRow) -> None:
    """End a job that was not started, or did not end, in its time, whoever holds it."""
    reason = "expired" if row.limit == row.expires else "deadline"
    row.error = OVERDUE[reason] + (f"; its last error: {row.error}" if row.error else "")
    row.lease = row.worker = row.closed = ""
    row.lease_until = 0
    end(records, row, "failed", reason)
    emit(records, kinds.FAILED, row, reason=reason, error=row.error)


def store(records: Records, row: JobRow) -> None:
    """Write the job back."""
    row.updated = records.now
    records.put_job(row)
