"""Ledger: what must be true of the store, kept apart from it. Every command is judged before and after it is run.

It is a second, shorter telling of the operations. What it demands: nothing is lost, one owner per token, tokens that
only grow, no acknowledgement without its checkpoint, what is recorded stays recorded and is recorded once, the same key
the same job, threads with the right parents, tips and counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from batonpass.contracts import event as kinds
from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.upkeep import POISON
from batonpass.coordinator.records import Records
from batonpass.coordinator.rows import CommitLine, Delivery
from tests.simulation.known import ENDED, Job, Thread

_SEEN = attrgetter(
    *("state", "reason", "queue", "hop", "attempt", "crashes", "token", "lease", "lease_until", "due", "tip", "closed"),
    *("answer", "result"),
)
_CLOSING = {
    c.HandOff: "hand_off",
    c.Complete: "complete",
    c.Fail: "fail",
    c.Suspend: "suspend",
    c.Release: "release",
}
_ENDS = {kinds.COMPLETED, kinds.FAILED, kinds.REJECTED, kinds.CANCELED}

# A job's place, what was asked, and its place then or the refusal.
Coverage = Counter[tuple[str, str, str]]


class Violation(AssertionError):
    """The store broke a promise."""


class Ledger:
    """Jobs, threads, checkpoints and keys as they must be. `given` is the highest token that a job's workers ever had,
    also by a claim that the store has lost since."""

    def __init__(self, given: dict[str, int], coverage: Coverage, *, replaying: bool = False) -> None:
        self.jobs: dict[str, Job] = {}
        self.threads: dict[str, Thread] = {}
        self.kept: dict[str, tuple[str, int, c.NewCheckpoint]] = {}  # thread, expiry, as it was saved
        self.keys: dict[str, tuple[str, str]] = {}
        self.replaying = replaying
        self.given = given
        self._coverage = coverage
        self._touched: dict[str, str] = {}

    def thread(self, name: str) -> Thread:
        return self.threads.setdefault(name, Thread(name))

    def owns(self, fence: c.Fence) -> bool:
        job = self.jobs.get(fence.job_id)
        return job is not None and job.lease == fence.lease_id and job.token == fence.token

    # before: what must be refused, and how

    def refusal(self, command: c.Command[Any], now: int) -> str:
        """The error that the command must end with, "" if it must be carried out."""
        fence = getattr(command, "fence", None)
        if fence is not None:
            return self._fenced(fence, _CLOSING.get(type(command), ""))
        judge = _JUDGES.get(type(command))
        return judge(self, command, now) if judge else ""

    def _fenced(self, fence: c.Fence, closing: str) -> str:
        job = self.jobs.get(fence.job_id)
        if job is None:
            return "NotFound"
        if self.owns(fence) or (closing and job.closed == f"{closing} {fence.lease_id}"):
            return ""
        return "Canceled" if job.state == "canceled" else "Fenced"

    def _may_submit(self, command: c.Submit, now: int) -> str:
        if command.job_id in self.jobs:
            return ""
        if first := self._first(command.idem, now):
            return "KeyConflict" if first[1] != command.payload_digest else ""
        if self.thread(command.thread).job:
            return "ThreadBusy"
        return "NotFound" if command.origin and command.origin not in self.kept else ""

    def _may_save(self, command: c.Save, now: int) -> str:
        thread = self.thread(command.thread)
        if command.checkpoint.id in self.kept:
            return ""
        if thread.job:
            return "ThreadBusy"
        if command.parent and command.parent not in self.kept:
            return "NotFound"
        return "Conflict" if command.parent and command.parent != thread.tip and not command.branch else ""

    def _may_answer(self, command: c.AnswerJob, now: int) -> str:
        job = self.jobs.get(command.job_id)
        if job is None:
            return "NotFound"
        again = job.state == "submitted" and job.answer == command.answer
        return "" if job.state == "input_required" or again else "WrongState"

    def _may_cancel(self, command: c.Cancel | c.ReadJob, now: int) -> str:
        return "" if command.job_id in self.jobs else "NotFound"

    def _may_expire(self, command: c.Expire, now: int) -> str:
        if command.checkpoint_id not in self.kept:
            return "NotFound"
        return "ThreadBusy" if self._needed(command.checkpoint_id) else ""

    def _may_restore(self, command: c.Restore, now: int) -> str:
        kept = self.kept.get(command.checkpoint_id)
        return "" if kept and not 0 < kept[1] <= now else "NotFound"

    def _needed(self, checkpoint_id: str) -> bool:
        job = self.thread(self.kept[checkpoint_id][0]).job
        return bool(job) and self.jobs[job].tip == checkpoint_id

    def _first(self, idem: str, now: int) -> tuple[str, str] | None:
        first = self.keys.get(idem) if idem else None
        return None if first and 0 < self.jobs[first[0]].forget_at <= now else first

    # after: what the answer must be, and what is known from then on

    def accept(self, command: c.Command[Any], answer: Any, now: int, records: Records) -> None:
        """Learn from a command that was carried out, and compare the store with what must be there now."""
        learn = _LEARNERS.get(type(command))
        if learn is None:
            return
        self._touched.clear()
        learn(self, command, answer, now, records)
        name = type(command).__name__
        for job_id, before in self._touched.items():
            self.compare(job_id, records)
            if not self.replaying:
                self._coverage[before, name, self.jobs[job_id].place] += 1

    def refuse(self, command: c.Command[Any], error: BatonpassError) -> None:
        """Note a refusal, which changed nothing."""
        fence = getattr(command, "fence", None)
        job = self.jobs.get(fence.job_id if fence else getattr(command, "job_id", ""))
        if job is not None:
            self._coverage[job.place, type(command).__name__, type(error).__name__] += 1

    def compare(self, job_id: str, records: Records) -> None:
        """The store's job must be the one that is known."""
        row, job = records.job(job_id), self.jobs[job_id]
        if row is None:
            raise Violation(f"job {job_id} is gone")
        if _SEEN(row) != _SEEN(job) or bool(row.ready) != (job.place == "ready"):
            raise Violation(f"job {job_id} is {_SEEN(row)} ready={row.ready}, must be {_SEEN(job)} {job.place}")

    def touch(self, job: Job) -> Job:
        """A job that the command changes, or answers with."""
        self._touched.setdefault(job.id, job.place)
        return job

    def _submitted(self, m: c.Submit, row: Any, now: int, records: Records) -> None:
        first = self._first(m.idem, now)
        expected = m.job_id if m.job_id in self.jobs or not first else first[0]
        if row.id != expected:
            raise Violation(f"a submit with key {m.key!r} made {row.id}; {expected} has that key")
        if row.id in self.jobs:
            self.touch(self.jobs[row.id])
            return
        thread = self.thread(m.thread)
        job = self.jobs[row.id] = Job(row.id, m.thread, m.target.queue, m.origin or thread.tip, m.idem, m.key_ttl)
        if m.delay:
            job.reason, job.due = "scheduled", now + m.delay
        self._touched[job.id] = "none"
        thread.job = job.id
        if m.idem:
            self.keys[m.idem] = (job.id, m.payload_digest)

    def _claimed(self, m: c.Claim, deliveries: list[Delivery], now: int, records: Records) -> None:
        durations = dict(m.queues)
        for delivery, lease in zip(deliveries, m.leases, strict=False):
            row, job = delivery.job, self.touch(self.jobs[delivery.job.id])
            if job.place != "ready" or row.lease != lease:
                raise Violation(f"job {job.id} was given out while {job.place} (lease {row.lease})")
            if not self.replaying and row.token <= self.given.get(job.id, 0):
                raise Violation(f"job {job.id}: token {row.token} comes again, {self.given[job.id]} was given before")
            self.given[job.id] = max(row.token, self.given.get(job.id, 0))
            job.lease_for(lease, row.token, now + durations[job.queue])
            tip = delivery.checkpoint.id if delivery.checkpoint else ""
            if tip != (job.tip if job.tip in self.kept else ""):
                raise Violation(f"job {job.id} goes on from {tip or 'nothing'}, not from {job.tip}")
            if dict(delivery.journal) != job.journal:
                raise Violation(f"job {job.id}: its journal is {delivery.journal}, must be {job.journal}")

    def _beaten(self, m: c.Heartbeat, answers: list[str], now: int, records: Records) -> None:
        for (fence, duration), answer in zip(m.leases, answers, strict=True):
            job = self.jobs.get(fence.job_id)
            held = self.owns(fence)
            expected = "" if held else "canceled" if job is not None and job.state == "canceled" else "lost"
            if answer != expected:
                raise Violation(f"a heartbeat of {fence} was answered {answer!r}, must be {expected!r}")
            if job is not None:
                self.touch(job)
                if held:
                    job.lease_until = now + duration

    def _recorded(self, m: c.Record | c.Save, answer: Any, now: int, records: Records) -> None:
        assert m.fence is not None
        job = self.touch(self.jobs[m.fence.job_id])
        for name, value in m.records.items():
            if job.journal.setdefault(name, value) != value:
                raise Violation(f"job {job.id} hop {job.hop}: {name} is recorded twice: {job.journal[name]!r}, {value!r}")
        if records.journal(job.id) != job.journal:
            raise Violation(f"job {job.id}: its journal is {records.journal(job.id)}, must be {job.journal}")

    def _saved(self, m: c.Save, commit: CommitLine, now: int, records: Records) -> None:
        if m.checkpoint.id in self.kept:
            return
        if m.fence is None:
            thread = self.thread(m.thread)
            self._append(thread, m.checkpoint, m.parent or thread.tip, now, records)
            return
        self._recorded(m, commit, now, records)
        job = self.jobs[m.fence.job_id]
        self._append(self.thread(job.thread), m.checkpoint, job.tip, now, records)
        job.tip = m.checkpoint.id

    def _append(self, thread: Thread, new: c.NewCheckpoint, parent: str, now: int, records: Records) -> None:
        """An acknowledged checkpoint must be there as it was sent, at the end of its thread."""
        row = records.checkpoint(new.id)
        if row is None or (row.thread, row.header, row.state, row.native) != (
            thread.name,
            new.header,
            new.state,
            new.native,
        ):
            raise Violation(f"checkpoint {new.id} was acknowledged and is not there as it was sent")
        expected = f"{thread.count} {parent or '-'} {now} {now + new.ttl if new.ttl else 0}"
        if not row.commit.startswith(f"{expected} "):
            raise Violation(f"checkpoint {new.id} was committed as {row.commit!r}, must be {expected!r}")
        self.kept[new.id] = (thread.name, now + new.ttl if new.ttl else 0, new)
        thread.append(new.id)

    def _closed(self, m: Any, answer: None, now: int, records: Records) -> None:
        fence: c.Fence = m.fence
        job = self.touch(self.jobs[fence.job_id])
        if not self.owns(fence):  # said again: the first time counts
            return
        if new := getattr(m, "checkpoint", None):
            self._append(self.thread(job.thread), new, job.tip, now, records)
            job.tip = new.id
        job.let_go(f"{_CLOSING[type(m)]} {fence.lease_id}")
        if isinstance(m, c.HandOff):
            job.next_hop(m.target.queue)
        elif isinstance(m, c.Complete):
            job.result = m.result
            self._end(job, "completed", "", now)
        elif isinstance(m, c.Suspend):
            job.state, job.reason, job.answer = "input_required", "question", b""
        elif isinstance(m, c.Release):
            job.make_ready()
        elif m.retry_in is None:
            self._end(job, m.state, m.reason, now)
        else:
            job.state, job.reason, job.due = "submitted", "retry_at", now + max(m.retry_in, 1)
            job.attempt += 1
        if records.journal(job.id) != job.journal:
            raise Violation(f"job {job.id}: its journal is {records.journal(job.id)}, must be {job.journal}")

    def _answered(self, m: c.AnswerJob, answer: None, now: int, records: Records) -> None:
        job = self.touch(self.jobs[m.job_id])
        if job.state == "input_required":
            job.answer = m.answer
            job.make_ready()

    def _canceled(self, m: c.Cancel, answer: bool, now: int, records: Records) -> None:
        job = self.touch(self.jobs[m.job_id])
        if answer == (job.state in ENDED):
            raise Violation(f"job {job.id} was {job.state}, and a cancel answers {answer}")
        if answer:
            job.let_go("")
            self._end(job, "canceled", "", now)

    def _expired(self, m: c.Expire, answer: None, now: int, records: Records) -> None:
        self._drop(m.checkpoint_id, now)

    def _drop(self, checkpoint_id: str, now: int) -> None:
        thread = self.thread(self.kept.pop(checkpoint_id)[0])
        thread.line.remove(checkpoint_id)
        if thread.tip == checkpoint_id:
            thread.tip = next(iter(self._shown(thread, now)), "")

    def _shown(self, thread: Thread, now: int) -> list[str]:
        return [id_ for id_ in reversed(thread.line) if not 0 < self.kept[id_][1] <= now]

    def _reaped(self, m: c.Reap, reaped: c.Reaped, now: int, records: Records) -> None:
        moved = 0
        for job in self.jobs.values():
            if 0 < job.lease_until <= now:
                self.touch(job).let_go("")
                job.crashes += 1
                if job.crashes >= POISON:
                    self._end(job, "failed", "poison", now)
                else:
                    job.make_ready()
                moved += 1
            elif 0 < job.due <= now:
                self.touch(job).make_ready()
                moved += 1
        for checkpoint_id in [id_ for id_, kept in self.kept.items() if 0 < kept[1] <= now and not self._needed(id_)]:
            self._drop(checkpoint_id, now)
        times = [at for job in self.jobs.values() for at in (job.lease_until, job.due) if at]
        due = min(times) - now if times else -1
        if reaped != c.Reaped(moved, due):
            raise Violation(f"{reaped}, must be {c.Reaped(moved, due)}")

    def _end(self, job: Job, state: str, reason: str, now: int) -> None:
        job.end(state, reason, now)
        self.thread(job.thread).job = ""

    # the whole

    def compare_all(self, records: Records, now: int) -> None:
        """Everything that is kept must be what is known."""
        for job_id in self.jobs:
            self.compare(job_id, records)
        self._same("jobs", sorted(row.id for row in records.jobs(10_000, "")), sorted(self.jobs))
        for thread in self.threads.values():
            row = records.thread(thread.name)
            self._same(f"thread {thread.name}", (row.tip, row.count, row.job), (thread.tip, thread.count, thread.job))
            shown = [row.id for row in records.checkpoints(thread.name, 10_000, "")]
            self._same(f"timeline {thread.name}", shown, self._shown(thread, now))
        for checkpoint_id, (thread_name, _, new) in self.kept.items():
            found = records.checkpoint(checkpoint_id)
            if found is None or (found.thread, found.state) != (thread_name, new.state):
                raise Violation(f"checkpoint {checkpoint_id} is gone or another")
        for idem, (job_id, payload_digest) in self.keys.items():
            expected = (job_id, payload_digest) if self._first(idem, now) else None
            self._same(f"key {idem}", records.first_use(idem), expected)

    def compare_events(self, records: Records) -> None:
        """A job's events are in order: its tokens grow, and it ends once."""
        tokens: dict[str, int] = {}
        over: set[str] = set()
        for row in records.events("", 1_000_000):
            kind, job = row.fields["type"], row.fields["subject"]
            if job not in self.jobs or kind == kinds.EXPIRED:
                continue
            if job in over:
                raise Violation(f"job {job} has ended, and then: {row.fields}")
            if kind == kinds.STARTED:
                token = int(row.fields["token"])
                if token <= tokens.get(job, 0):
                    raise Violation(f"job {job} was started with token {token} after {tokens[job]}")
                tokens[job] = token
            if kind in _ENDS:
                over.add(job)
        self._same("jobs with an end among their events", over, {id_ for id_, job in self.jobs.items() if ended([job])})

    def _same(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise Violation(f"{what}: {found}, must be {expected}")


_JUDGES: dict[type[c.Command[Any]], Any] = {
    c.Submit: Ledger._may_submit,
    c.Save: Ledger._may_save,
    c.AnswerJob: Ledger._may_answer,
    c.Cancel: Ledger._may_cancel,
    c.Expire: Ledger._may_expire,
    c.Restore: Ledger._may_restore,
    c.ReadJob: Ledger._may_cancel,
}
_LEARNERS: dict[type[c.Command[Any]], Any] = {
    c.Submit: Ledger._submitted,
    c.Claim: Ledger._claimed,
    c.Heartbeat: Ledger._beaten,
    c.Record: Ledger._recorded,
    c.Save: Ledger._saved,
    **dict.fromkeys(_CLOSING, Ledger._closed),
    c.AnswerJob: Ledger._answered,
    c.Cancel: Ledger._canceled,
    c.Expire: Ledger._expired,
    c.Reap: Ledger._reaped,
}


def ended(jobs: Iterable[Job]) -> bool:
    """Whether all have ended."""
    return all(job.state in ENDED for job in jobs)
