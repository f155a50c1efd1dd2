"""The moves that several operations share: holding, queueing, ending. Their counterparts in Lua are in
lua/lib/job.lua."""

from __future__ import annotations

from dataclasses import replace

from ...contracts import event as kinds
from ...contracts.job import CHILDREN, ENDED
from ..commands import SETTLED, SPENT, Fence, Target
from ..records import Records
from ..refusals import refusal
from ..rows import BEHIND, LATE, NEVER, JobRow, OutcomeRow, ThreadRow
from .doubt import in_doubt, joined

# After so many deaths of workers in one hop, the job is parked: enough to survive a bad deploy, few enough to end.
POISON = 10
# After so many, it may be the job that kills them, or a lack of memory: it waits before the next one, in ms, twice as
# long each time. So ten deaths take two minutes.
SUSPECT = 3
FIRST_WAIT = 1_000
LONGEST_WAIT = 60_000
# Also in lua/lib/job.lua.
OVERDUE = {"expired": "no worker started it before it expired", "deadline": "it did not end before its deadline"}


def announce(records: Records, kind: str, subject: str, **fields: object) -> int:
    """Append an event. Empty fields are left out."""
    texts = {name: str(value) for name, value in fields.items() if value not in ("", None)}
    return records.add_event({"type": kind, "subject": subject, **texts})


def emit(records: Records, kind: str, row: JobRow, **fields: object) -> int:
    """Append an event of a job."""
    return announce(records, kind, row.id, agent=row.agent, hop=row.hop, **fields)


def holds(fence: Fence, row: JobRow) -> bool:
    """Whether the job's lease is this one."""
    return row.lease == fence.lease_id and row.token == fence.token


def held(records: Records, fence: Fence, operation: str = "") -> JobRow | None:
    """The job, if the fence holds it. None if the same lease has already ended its delivery by the same operation."""
    row = records.job(fence.job_id)
    if row is None:
        raise refusal("no_job", fence.job_id)
    if holds(fence, row):
        return row
    if operation and row.closed == f"{operation} {fence.lease_id}":
        return None
    raise refusal("fenced", row.id, str(fence.token), row.state, row.worker, str(row.token))


def close(row: JobRow, operation: str) -> None:
    """End the job's delivery and its lease."""
    row.closed = f"{operation} {row.lease}"
    row.lease = row.worker = ""
    row.lease_until = 0


def pause(records: Records, row: JobRow) -> None:
    """Stop the clock that says for how long the hop has been failing, while it waits. The next claim starts it
    again."""
    if row.failing > 0:
        row.failing = min(row.failing - records.now, 0)


def enqueue(records: Records, row: JobRow, kind: str, **fields: object) -> None:
    """Make the job deliverable. The event's number is its place in the queue."""
    row.state, row.reason, row.due = "submitted", "ready", 0
    row.ready = BEHIND + emit(records, kind, row, **fields)


def go_ahead(records: Records, row: JobRow, kind: str, **fields: object) -> None:
    """Make a job deliverable that already had its turn and has to go on, or was held up through no fault of its own,
    ahead of those in its queue that wait for their first turn. (A failed attempt is not: a job that keeps failing must
    not keep the others waiting.)"""
    enqueue(records, row, kind, **fields)
    row.ready -= BEHIND


def take_back(records: Records, row: JobRow, kind: str, how: str, **fields: object) -> None:
    """Make a job deliverable again whose worker was lost, now or later. Parks it if its workers keep dying. `how` says
    how this one was lost: often the only hint at why. Its counterpart in Lua is in lua/lib/deaths.lua."""
    row.crashes += 1
    if row.crashes >= POISON:
        died = f"{row.crashes} workers died or went silent while they ran this hop"
        row.error = joined(died, in_doubt(records, row.id), f"the last: {how}")
        end(records, row, "failed", "poison")
        emit(records, kinds.FAILED, row, reason="poison", error=row.error)
    elif row.crashes >= SUSPECT:
        row.state, row.reason, row.error = "submitted", "retry_at", how
        row.due = records.now + min(FIRST_WAIT * 2 ** (row.crashes - SUSPECT), LONGEST_WAIT)
        emit(records, kind, row, due=row.due, **fields)
    else:
        go_ahead(records, row, kind, **fields)


def living_tip(records: Records, thread: ThreadRow) -> str:
    """The thread's tip. If that has expired, the newest checkpoint that is left, as if it had been freed."""
    if not thread.tip or records.is_living(thread.tip):
        return thread.tip
    left = records.checkpoints(thread.name, 1, "")
    return left[0].id if left else ""


def begin(records: Records, row: JobRow, **about: object) -> None:
    """Give the job its thread. It goes on from its origin or from the thread's tip, now or when it is due."""
    thread = records.thread(row.thread)
    row.tip = row.began = row.tip or living_tip(records, thread)
    thread.job = row.id
    records.put_thread(thread)
    if row.due > records.now:
        row.state, row.reason = "submitted", "scheduled"
        emit(records, kinds.SUBMITTED, row, due=row.due, **about)
    else:
        enqueue(records, row, kinds.SUBMITTED, **about)


def end(records: Records, row: JobRow, state: str, reason: str, *, successor: str = "", spent: bytes = b"") -> None:
    """End the job. Its key starts to age, and its parent is told (what was `spent` is in the result's place).

    The thread goes to the job that waits for it next (if there is a `successor`, the caller does that). The journal is
    dropped, unless a redrive, of the job or its parent, may go on with it. How its own children ended is kept if its
    parent may still read that.
    """
    if state != "completed":
        row.result = spent or records.journal(row.id).get(SPENT, row.result)
    waited, in_line = row.reason == "thread_busy", row.waits > 0
    row.state, row.reason, row.ready, row.due, row.waits = state, reason, 0, 0, 0
    records.unstage(row.id)
    if row.fan and not row.verdict:
        _decide(records, row, "cut")
    kept = state == "failed" or (state == "canceled" and _may_ask_again(records, row))
    if row.brood:
        tell_parent(records, row)
    elif row.parent and state == "completed":
        _make_good(records, row)
    if not kept:
        records.drop_journal(row.id)
        if state == "completed" or not row.brood:
            records.drop_outcomes(row.id)
    if row.idem:
        records.forget_first_use(row.idem, row.id, records.now + row.key_ttl)
    if waited:
        records.drop_turn(row.thread, row.id)
    elif not successor:
        _give_turn(records, row.thread)
    if in_line:
        records.put_job(row)
        close_line(records, row.lane)
    free_slot(records, row)


def free_slot(records: Records, row: JobRow) -> None:
    """A delivery is over: if it had a place in a lane (lanes.py), the next one in line gets it."""
    name, row.slot = row.slot, ""
    if name and records.gate(name) in (0, NEVER):
        let_out(records, name)


def let_out(records: Records, lane: str) -> bool:
    """Make the first job in a lane's line ready. Returns whether there was one."""
    row = records.first_in_line(lane)
    if row is None:
        return False
    row.slot, row.waits = lane, 0
    go_ahead(records, row, kinds.SUBMITTED, attempt=row.attempt)
    store(records, row)
    close_line(records, lane)
    return True


def close_line(records: Records, lane: str) -> None:
    """Remove a lane's gate if nobody waits in its line."""
    if records.first_in_line(lane) is None:
        records.drop_gate(lane)


def _give_turn(records: Records, name: str) -> None:
    thread = records.thread(name)
    thread.job = ""
    records.put_thread(thread)
    if following := next(map(records.job, records.turns(name, 1)), None):
        records.drop_turn(name, following.id)
        begin(records, following)
        store(records, following)


def tell_parent(records: Records, child: JobRow) -> None:
    """Tell the parent that a child ended. If that decides the fan-out, the parent goes on. A child that completes too
    late to count is still recorded if the parent may fan out again, so that its work is not repeated. Of other late
    children, it is recorded what they spent, and that they are there."""
    row = records.job(child.parent)
    if row is None or row.fan != child.brood:
        return
    completed, state = child.state == "completed", child.state
    below = "" if completed else child.fan
    if row.verdict and not (completed and row.verdict in ("broken", "cut") and _may_go_on(row)):
        if not (_may_count(row) and (row.verdict != "met" or child.result or below)):
            return
        state = f"{LATE} {state}"
    outcome = OutcomeRow(child.id, child.number, state, child.reason, child.error, child.result, below)
    records.put_outcome(row.id, row.fan, outcome)
    if not row.verdict:
        row.done += completed
        row.lost += not completed
        _weigh(records, row, child)


def address(row: JobRow, target: Target) -> None:
    """Change what is delivered, and to whom."""
    row.agent, row.contract, row.queue, row.envelope = target.agent, target.contract, target.queue, target.envelope
    row.lane = target.lane


def retry(records: Records, row: JobRow, target: Target | None) -> None:
    """Make a failed job deliverable again, with a new count of attempts. Its thread is free. Without a `target` its
    delivery is as it was."""
    if row.reason == "unanswered":
        row.answered = ""  # it will ask again
    if target is not None:
        address(row, target)
    row.attempt, row.crashes, row.error, row.result, row.closed = 1, 0, "", b"", "redrive"
    row.failing = row.expires = row.deadline = 0
    if row.fan and row.reason == CHILDREN:
        row.verdict = "cut"  # the children that failed the fan-out are tried again, too
    thread = records.thread(row.thread)
    thread.job = row.id
    records.put_thread(thread)
    if row.idem and (first := records.first_use(row.idem)) and first[0] == row.id:
        records.put_first_use(row.idem, *first)  # the key does not age while the job has not ended
    enqueue(records, row, kinds.REDRIVEN)
    store(records, row)


def await_again(records: Records, child: JobRow) -> bool:
    """A child that had failed is redriven: if its parent still waits for others, it waits for this one, too. Returns
    whether it does."""
    row = records.job(child.parent)
    if row is None or not counts(row, child):
        return False
    row.lost -= 1
    records.put_job(row)
    [failed] = records.outcomes(row.id, row.fan, child.number, 1)
    records.put_outcome(row.id, row.fan, replace(failed, state=f"{LATE} {failed.state}"))
    return True


def _make_good(records: Records, child: JobRow) -> None:
    """A child that had failed, and was redriven when nobody waited for it any more, has completed. If the parent may be
    redriven, that is recorded. A parent that went on without this child ignores it."""
    row = records.job(child.parent)
    if row is None or not _is_open(row) or SETTLED + row.fan in records.journal(row.id):
        return
    known = records.outcomes(row.id, row.fan, child.number, 1)
    if known and known[0].job_id == child.id:
        records.put_outcome(row.id, row.fan, OutcomeRow(child.id, child.number, child.state, result=child.result))


def _weigh(records: Records, row: JobRow, child: JobRow) -> None:
    """Let the parent go on, if the counts decide its fan-out."""
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


def _may_ask_again(records: Records, child: JobRow) -> bool:
    """Whether the parent may ask for a canceled child again: also for one that was redriven alone (if a person has that
    parent do so), or that is yet to become a child of the last fan-out, because it is staged."""
    row = records.job(child.parent) if child.parent else None
    if row is None or not _may_count(row):
        return False
    if not child.brood:
        return True
    if row.verdict == "met" and not _is_open(row):
        return False
    return child.brood == row.fan or records.count_staged(row.id) > 0


def _may_count(row: JobRow) -> bool:
    """Whether a run of the job, or of its parent, may still count what its children have spent. (Also of one that was
    redriven alone: its parent may have it go on later.)"""
    return _may_go_on(row) or bool(row.parent and row.state != "completed")


def _may_go_on(row: JobRow) -> bool:
    return row.state == "failed" or row.state not in ENDED


def _is_open(row: JobRow) -> bool:
    """Whether no run of the parent has acted on how its children ended, because it will fan out again."""
    failed_of_it = row.verdict in ("broken", "met") and row.state == "failed" and row.reason == CHILDREN
    return failed_of_it or (row.verdict == "cut" and _may_go_on(row))


def _decide(records: Records, row: JobRow, verdict: str, ended: str = "") -> None:
    """A fan-out is over. Staged children are not made any more, and `reap` will cancel those that have not ended."""
    row.verdict = verdict
    records.unstage(row.id)
    records.drop_chore("opening", row.id)
    if any(child.id != ended for child in records.unfinished(row.fan, 2)):
        records.put_chore("closing", row.fan)


def _reopen(row: JobRow) -> None:
    """No run has acted on children that failed, or a question that nobody answered, while the job waited in line since.
    So a redrive tries that again, as if it had failed of it."""
    if row.lease:
        return
    if row.verdict == "broken" and row.closed.startswith("spawn "):
        row.verdict = "cut"
    if row.answered.endswith(" timeout") and row.closed.startswith("suspend "):
        row.answered = ""


def end_canceled(records: Records, row: JobRow, *, successor: str = "") -> None:
    """End a job from outside, whoever holds it. The `successor`, if any, gets its thread."""
    _reopen(row)
    worker = row.worker
    row.lease = row.worker = row.closed = ""
    row.lease_until = 0
    if doubt := in_doubt(records, row.id):
        row.error = joined(doubt, row.error and f"its last error: {row.error}")
    end(records, row, "canceled", "", successor=successor)
    emit(records, kinds.CANCELED, row, worker=worker, by=successor, error=doubt)
    store(records, row)


def fail_late(records: Records, row: JobRow) -> None:
    """End a job that has expired or is past its deadline, whoever holds it."""
    _reopen(row)
    reason = "expired" if row.limit == row.expires else "deadline"
    last = row.error and f"its last error: {row.error}"
    row.error = joined(OVERDUE[reason], in_doubt(records, row.id), last)
    row.lease = row.worker = row.closed = ""
    row.lease_until = 0
    end(records, row, "failed", reason)
    emit(records, kinds.FAILED, row, reason=reason, error=row.error)


def store(records: Records, row: JobRow) -> None:
    """Write the job back."""
    row.updated = records.now
    records.put_job(row)
