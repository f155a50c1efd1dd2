"""What clients do. They have no lease, and so no token."""

from __future__ import annotations

from hashlib import sha1

from ...contracts import event as kinds
from ...contracts.job import ENDED, JobState
from ..commands import Adopt, AnswerJob, Cancel, Declare, Redrive, RunNow, Submit
from ..records import Records
from ..refusals import refusal
from ..rows import JobRow
from .jobs import await_again, begin, emit, end_canceled, enqueue, go_ahead, retry, store


def submit(records: Records, command: Submit) -> JobRow:
    """Make a job. The same id or the same key again returns the first job."""
    there = records.job(command.job_id) or _first(records, command)
    if there is not None:
        return there
    thread = records.thread(command.thread)
    terms = command.terms
    if thread.job and terms.on_busy == "reject":
        raise refusal("turned_away", thread.name, thread.job)
    if command.origin and records.checkpoint(command.origin) is None:
        raise refusal("no_checkpoint", command.origin)
    if terms.most and records.count_waiting(terms.counted, command.target.lane, terms.most) == terms.most:
        raise refusal("full", command.target.agent, str(terms.most))
    busy = records.job(thread.job) if thread.job else None
    row = _new_job(command, records.now)
    if busy and terms.on_busy == "queue":
        row.state, row.reason = "submitted", "thread_busy"
        emit(records, kinds.SUBMITTED, row, due=row.due or "", behind=busy.id, **command.target.about)
        records.add_turn(thread.name, row.id)
    else:
        if busy:
            _make_way(records, busy, row, back=terms.on_busy == "rollback")
        begin(records, row, **command.target.about)
    records.add_job(row)
    if command.idem:
        records.put_first_use(command.idem, row.id, command.payload_digest)
    return row


def _first(records: Records, command: Submit) -> JobRow | None:
    """The job that used the same key first."""
    first = records.first_use(command.idem) if command.idem else None
    if first is None:
        return None
    job_id, payload_digest = first
    if payload_digest != command.payload_digest:
        raise refusal("key", command.key, job_id)
    row = records.job(job_id)
    if row is None:
        raise refusal("no_job", job_id)
    return row


def _make_way(records: Records, busy: JobRow, row: JobRow, *, back: bool) -> None:
    """End a thread's job for another one. With `back`, that goes on from where the ended one began."""
    if back and busy.began and not records.has_checkpoint(busy.began):
        raise refusal("no_checkpoint", busy.began)
    end_canceled(records, busy, successor=row.id)
    if not back:
        return
    thread = records.thread(row.thread)
    began = records.checkpoint(busy.began)
    if began is None or began.thread == thread.name:
        thread.tip = busy.began
        records.put_thread(thread)
    row.tip = row.tip or busy.began


def _new_job(command: Submit, now: int) -> JobRow:
    target, terms = command.target, command.terms
    return JobRow(
        id=command.job_id,
        thread=command.thread,
        agent=target.agent,
        contract=target.contract,
        queue=target.queue,
        envelope=target.envelope,
        tip=command.origin,
        due=now + command.delay if command.delay else terms.at,
        key=command.key,
        idem=command.idem,
        key_ttl=command.key_ttl,
        priority=terms.priority,
        lane=target.lane,
        expires=now + terms.expires if terms.expires else 0,
        deadline=now + terms.within if terms.within else terms.deadline,
        created=now,
        updated=now,
    )


def answer(records: Records, command: AnswerJob) -> None:
    """Answer the question of a suspended job. The same answer again changes nothing."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    digest = sha1(command.answer, usedforsecurity=False).hexdigest()
    if row.state == JobState.INPUT_REQUIRED and command.asked in (0, row.asked):
        row.answer, row.answered = command.answer, f"{row.asked} {digest}"
        if row.due:
            row.escalation = f"{row.due}\n{row.escalation}"
        go_ahead(records, row, kinds.ANSWERED, **({"by": command.by} if command.by else {}))
        store(records, row)
        return
    # A retry: the answer may have been taken before, and the job may be at other agents and questions by now.
    asked, _, taken = row.answered.partition(" ")
    if taken == digest and command.asked in (0, int(asked)):
        return
    if row.state == JobState.INPUT_REQUIRED:
        raise refusal("asks_other", row.id, str(command.asked), str(row.asked))
    raise refusal("not_asking", row.id, row.state)


def cancel(records: Records, command: Cancel) -> bool:
    """End the job now, whoever holds it. Its worker learns it from its next write or heartbeat."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    if row.state in ENDED:
        return False
    end_canceled(records, row)
    return True


def run_now(records: Records, command: RunNow) -> bool:
    """Make a job ready before its time. Not one that sleeps: its agent counts on the time that passes."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    if (row.state, row.reason) in ((JobState.SUBMITTED, "ready"), (JobState.WORKING, "")):
        return False
    if row.state != JobState.SUBMITTED or row.reason not in ("retry_at", "scheduled"):
        raise refusal("not_timed", row.id, row.state, row.reason)
    enqueue(records, row, kinds.SUBMITTED, attempt=row.attempt)
    store(records, row)
    return True


def redrive(records: Records, command: Redrive) -> None:
    """Retry a failed job. The same again while it waits changes nothing."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    if row.state != JobState.FAILED:
        if row.closed == "redrive" and row.state == JobState.SUBMITTED and _is_so(records, row, command):
            return
        raise refusal("not_failed", row.id, row.state)
    if command.token not in (-1, row.token):
        raise refusal("failed_again", row.id)
    thread = records.thread(row.thread)
    if thread.job:
        raise refusal("occupied", row.thread, thread.job)
    if command.at_tip and thread.tip not in ("", row.tip):
        raise refusal("strayed", row.thread, thread.tip)
    if command.tip and not records.has_checkpoint(command.tip):
        raise refusal("no_checkpoint", command.tip)
    row.tip = command.tip or row.tip
    if row.brood and not await_again(records, row):
        row.brood = ""  # if it completes, its parent is told by `_make_good`
    records.put_journal(row.id, command.records)
    retry(records, row, command.target)


def _is_so(records: Records, row: JobRow, command: Redrive) -> bool:
    """Whether a job was redriven with what this command gives it."""
    to = command.target
    journal = records.journal(row.id) if command.records else {}
    if any(journal.get(key, b"") != value for key, value in command.records.items()):
        return False
    return command.tip in ("", row.tip) and (to is None or (to.agent, to.envelope) == (row.agent, row.envelope))


def adopt(records: Records, command: Adopt) -> None:
    """Add a job that has ended, or asks, as it is. The same again changes nothing."""
    row = command.kept.job
    if records.job(row.id) is not None:
        return
    thread = records.thread(row.thread)
    if row.state == JobState.INPUT_REQUIRED:
        if thread.job:
            raise refusal("busy", thread.name, thread.job)
        thread.job = row.id
    records.put_thread(thread)
    records.add_job(row)
    records.put_journal(row.id, command.kept.journal)
    for fan, outcome in command.kept.outcomes:
        records.put_outcome(row.id, fan, outcome)
    for fields in command.events:
        records.add_event({"type": kinds.IMPORTED, "subject": row.id, **fields})


def declare(records: Records, command: Declare) -> list[str]:
    """Record agents' declarations, but those that others have recorded meanwhile."""
    left = list[str]()
    if command.before is not None:
        now = records.declared()
        left = [name for name in command.agents if now.get(name) != command.before.get(name)]
    records.declare({name: packed for name, packed in command.agents.items() if name not in left})
    return left
