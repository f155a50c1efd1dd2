"""Ledger: what must be true of the store, kept apart from it, and compared with it after every command.

With judging.py, it is a second, shorter version of the operations. It demands: nothing is lost, one owner per
token, tokens that only grow, no acknowledgement without its checkpoint, what is recorded stays recorded and is recorded
once, the same key the same job, threads with the right parents, tips and counts.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha1
from typing import Any

from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import FIRST_WAIT, LONGEST_WAIT, POISON, SUSPECT
from batonpass.coordinator.records import Records
from batonpass.coordinator.rows import CommitLine, Delivery
from tests.model.growing import Growing
from tests.simulation.auditing import compare_job
from tests.simulation.judging import CLOSING
from tests.simulation.known import ENDED, Job, Known, Thread, Violation

# A job's place, what was asked, and its place then or the refusal.
Coverage = Counter[tuple[str, str, str]]


class Ledger(Known):
    """Jobs, threads, checkpoints and keys as they must be. `given` is the highest token that a job's workers ever had,
    also by a claim that the store has lost since."""

    def __init__(self, growing: Growing, given: dict[str, int], coverage: Coverage, *, replaying: bool = False) -> None:
        super().__init__(growing)
        self.replaying = replaying
        self.given = given
        self._coverage = coverage
        self._touched: dict[str, str] = {}

    def accept(self, command: c.Command[Any], answer: Any, now: int, records: Records) -> None:
        """Learn from a command that was carried out, and compare the store with what must be there now."""
        learn = _LEARNERS.get(type(command))
        if learn is None:
            return
        self._touched.clear()
        learn(self, command, answer, now, records)
        name = type(command).__name__
        for job_id, before in self._touched.items():
            compare_job(self.jobs[job_id], records)
            if not self.replaying:
                self._coverage[before, name, self.jobs[job_id].place] += 1

    def refuse(self, command: c.Command[Any], error: BatonpassError) -> None:
        """Note a refusal, which changed nothing."""
        fence = getattr(command, "fence", None)
        job = self.jobs.get(fence.job_id if fence else getattr(command, "job_id", ""))
        if job is not None:
            self._coverage[job.place, type(command).__name__, type(error).__name__] += 1

    def touch(self, job: Job) -> Job:
        """A job that the command changes, or answers with."""
        self._touched.setdefault(job.id, job.place)
        return job

    def _submitted(self, m: c.Submit, row: Any, now: int, records: Records) -> None:
        first = self.first(m.idem, now)
        expected = m.job_id if m.job_id in self.jobs or not first else first[0]
        if row.id != expected:
            raise Violation(f"a submit with key {m.key!r} made {row.id}; {expected} has that key")
        if row.id in self.jobs:
            self.touch(self.jobs[row.id])
            return
        thread = self.thread(m.thread)
        busy = self.jobs.get(thread.job)
        job = self.jobs[row.id] = Job(row.id, m.thread, m.target.queue, m.origin, "", m.idem, m.key_ttl)
        job.due = now + m.delay if m.delay else 0
        self._touched[job.id] = "none"
        if busy and m.terms.on_busy == "queue":
            job.reason = "thread_busy"
            thread.waiting.append(job.id)
        else:
            if busy:
                self._replace(busy, job, thread, m.terms.on_busy, now)
            self._begin(job, thread, now)
        if m.idem:
            self.keys[m.idem] = (job.id, m.payload_digest)

    def _replace(self, busy: Job, job: Job, thread: Thread, on_busy: str, now: int) -> None:
        self.touch(busy).stop()
        busy.end("canceled", "", now)
        self._tell_family(busy)
        if on_busy == "rollback":
            if busy.began in ("", *thread.line):
                thread.tip = busy.began
            job.tip = job.tip or busy.began

    def _begin(self, job: Job, thread: Thread, now: int) -> None:
        thread.job, job.tip = job.id, job.tip or self.tip(thread, now)
        job.began = job.tip
        if job.due > now:
            job.reason = "scheduled"
        else:
            job.make_ready()

    def _claimed(self, m: c.Claim, deliveries: list[Delivery], now: int, records: Records) -> None:
        durations = dict(m.queues)
        for delivery, lease in zip(deliveries, m.leases, strict=False):
            row, job = delivery.job, self.touch(self.jobs[delivery.job.id])
            if job.brood and not self.awaited(job):
                raise Violation(f"job {job.id} was given out, and job {job.parent} does not wait for it any more")
            if job.place != "ready" or row.lease != lease:
                raise Violation(f"job {job.id} was given out while {job.place} (lease {row.lease})")
            self._check_token(job, row.token, now)
            self.given[job.id] = max(row.token, self.given.get(job.id, 0))
            job.lease_for(lease, row.token, now + durations[job.queue])
            tip = delivery.checkpoint.id if delivery.checkpoint else ""
            if tip != (job.tip if job.tip in self.kept else ""):
                raise Violation(f"job {job.id} goes on from {tip or 'nothing'}, not from {job.tip}")
            if dict(delivery.journal) != job.journal:
                raise Violation(f"job {job.id}: its journal is {delivery.journal}, must be {job.journal}")

    def _check_token(self, job: Job, token: int, now: int) -> None:
        """Tokens grow, even past those that the store forgot. Unless its clock went back further than the time that it
        took to start again: then the lease beside the token keeps the old holders out."""
        given = self.given.get(job.id, 0)
        if token <= job.token or (token <= given < now and not self.replaying):
            raise Violation(f"job {job.id}: token {token} comes again, {given} was given before")

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
                raise Violation(
                    f"job {job.id} hop {job.hop}: {name} is recorded twice: {job.journal[name]!r}, {value!r}"
                )
        if records.journal(job.id) != job.journal:
            raise Violation(f"job {job.id}: its journal is {records.journal(job.id)}, must be {job.journal}")

    def _saved(self, m: c.Save, commit: CommitLine, now: int, records: Records) -> None:
        if m.checkpoint.id in self.kept:
            return
        if m.fence is None:
            thread = self.thread(m.thread)
            self._append(thread, m.checkpoint, m.parent or self.tip(thread, now), now, records)
            return
        self._recorded(m, commit, now, records)
        job = self.jobs[m.fence.job_id]
        self._append(self.thread(job.thread), m.checkpoint, job.tip, now, records)
        job.tip = m.checkpoint.id

    def _append(self, thread: Thread, new: c.NewCheckpoint, parent: str, now: int, records: Records) -> None:
        """An acknowledged checkpoint must be there as it was sent, at the end of its thread."""
        row = records.checkpoint(new.id)
        sent = (thread.name, new.header, new.state, new.native)
        if row is None or (row.thread, row.header, row.state, row.native) != sent:
            raise Violation(f"checkpoint {new.id} was acknowledged and is not there as it was sent")
        expected = f"{thread.count} {parent or '-'} {now} {now + new.ttl if new.ttl else 0}"
        if not row.commit.startswith(f"{expected} "):
            raise Violation(f"checkpoint {new.id} was committed as {row.commit!r}, must be {expected!r}")
        self.kept[new.id] = (thread.name, now + new.ttl if new.ttl else 0, new)
        thread.append(new.id)

    def _closed(self, m: Any, answer: None, now: int, records: Records) -> None:
        fence: c.Fence = m.fence
        job = self.touch(self.jobs[fence.job_id])
        if self.excuses(m):
            job.closed, job.crashes = f"release {fence.lease_id}", job.crashes - 1
        if not self.owns(fence):  # said again: the first time counts
            return
        if new := getattr(m, "checkpoint", None):
            self._append(self.thread(job.thread), new, job.tip, now, records)
            job.tip = new.id
        job.let_go(f"{CLOSING[type(m)]} {fence.lease_id}")
        if isinstance(m, c.HandOff):
            job.next_hop(m.target.queue)
        elif isinstance(m, c.Complete):
            job.result = m.result
            self._end(job, "completed", "", now)
        elif isinstance(m, c.Suspend):
            job.ask(m, now)
        elif isinstance(m, c.Sleep):
            job.state, job.reason, job.due = "submitted", "sleeping", now + max(m.delay, 1)
            job.attempt, job.crashes = 1, 0
        elif isinstance(m, c.Spawn):
            self._spawn(job, m)
        elif isinstance(m, c.Release):
            if m.crash:
                self._lost(job, now)
            else:
                job.make_ready()
        elif m.retry_in is None:
            self._end(job, m.state, m.reason, now)
        else:
            job.state, job.reason, job.due = "submitted", "retry_at", now + max(m.retry_in, 1)
            job.attempt += 1
        if records.journal(job.id) != job.journal:
            raise Violation(f"job {job.id}: its journal is {records.journal(job.id)}, must be {job.journal}")

    def _lost(self, job: Job, now: int) -> bool:
        """A worker was lost. Tells whether the job is ready or has ended."""
        job.crashes += 1
        if job.crashes >= POISON:
            self._end(job, "failed", "poison", now)
        elif job.crashes >= SUSPECT:
            wait = min(FIRST_WAIT * 2 ** (job.crashes - SUSPECT), LONGEST_WAIT)
            job.state, job.reason, job.due = "submitted", "retry_at", now + wait
            return False
        else:
            job.make_ready()
        return True

    def _spawn(self, job: Job, m: c.Spawn) -> None:
        job.wait_for(m)
        for child in m.children:
            made = Job(child.job_id, child.job_id, child.target.queue, "", "", "", 0)
            made.parent, made.brood, made.number = job.id, m.fan, child.number
            self.jobs[made.id] = made
            self._touched[made.id] = "none"
            self.thread(made.id).job = made.id

    def _tell_family(self, ended: Job) -> None:
        """Its children are not needed any more; its parent counts it."""
        if ended.fan and not ended.verdict:
            self._decide(ended, "cut")
        if ended.brood and self.awaited(ended):
            parent = self.touch(self.jobs[ended.parent])
            if verdict := parent.count(ended):
                self._decide(parent, verdict)
                parent.make_ready()

    def _decide(self, job: Job, verdict: str) -> None:
        job.verdict = verdict
        if self.left_of(job.fan):
            self.closing.append(job.fan)

    def _answered(self, m: c.AnswerJob, answer: None, now: int, records: Records) -> None:
        job = self.touch(self.jobs[m.job_id])
        if job.state == "input_required" and m.asked in (0, job.asked):
            job.take(m.answer, sha1(m.answer).hexdigest())

    def _redriven(self, m: c.Redrive, answer: None, now: int, records: Records) -> None:
        job = self.touch(self.jobs[m.job_id])
        if job.state == "failed":
            if first := self.first(job.idem, now):
                self.jobs[first[0]].forget_at *= first[0] != job.id
            job.redrive()
            if job.brood and self.awaited(job):
                self.touch(self.jobs[job.parent]).lost -= 1  # it is waited for again
            else:
                job.brood = ""
            self.thread(job.thread).job = job.id

    def _canceled(self, m: c.Cancel, answer: bool, now: int, records: Records) -> None:
        job = self.touch(self.jobs[m.job_id])
        if answer == (job.state in ENDED):
            raise Violation(f"job {job.id} was {job.state}, and a cancel answers {answer}")
        if answer:
            job.stop()
            self._end(job, "canceled", "", now)

    def _expired(self, m: c.Expire, answer: None, now: int, records: Records) -> None:
        self._drop(m.checkpoint_id, now)

    def _drop(self, checkpoint_id: str, now: int) -> Thread:
        thread = self.thread(self.kept.pop(checkpoint_id)[0])
        thread.line.remove(checkpoint_id)
        if thread.tip == checkpoint_id:
            thread.tip = self.newest(thread, now)
        return thread

    def _reaped(self, m: c.Reap, reaped: c.Reaped, now: int, records: Records) -> None:
        moved, closing = 0, list(self.closing)
        for job in self.jobs.values():
            if 0 < job.lease_until <= now:
                self.touch(job).let_go(f"expired {job.lease}")
                moved += self._lost(job, now)
            elif 0 < job.due <= now and job.reason != "thread_busy":
                asks = self.touch(job).state == "input_required"
                job.overdue(now) if asks else job.make_ready()
                moved += job.state == "submitted"
        for fan in closing:
            for job in self.left_of(fan):
                self.touch(job).stop()
                self._end(job, "canceled", "", now)
            self.closing.remove(fan)
        for checkpoint_id in [id_ for id_, kept in self.kept.items() if 0 < kept[1] <= now and not self.needed(id_)]:
            thread = self._drop(checkpoint_id, now)
            if not thread.line and all(job.thread != thread.name for job in self.jobs.values()):
                del self.threads[thread.name]
        timed = [job for job in self.jobs.values() if job.reason != "thread_busy"]
        times = [at for job in timed for at in (job.lease_until, job.due) if at]
        due = 0 if self.closing else min(times) - now if times else -1
        if reaped != c.Reaped(moved, due):
            raise Violation(f"{reaped}, must be {c.Reaped(moved, due)}")

    def _end(self, job: Job, state: str, reason: str, now: int) -> None:
        thread = self.thread(job.thread)
        job.end(state, reason, now)
        self._tell_family(job)
        if job.id in thread.waiting:
            thread.waiting.remove(job.id)
            return
        thread.job = ""
        if thread.waiting:
            self._begin(self.touch(self.jobs[thread.waiting.pop(0)]), thread, now)


_LEARNERS: dict[type[c.Command[Any]], Any] = {
    c.Submit: Ledger._submitted,
    c.Claim: Ledger._claimed,
    c.Heartbeat: Ledger._beaten,
    c.Record: Ledger._recorded,
    c.Save: Ledger._saved,
    **dict.fromkeys(CLOSING, Ledger._closed),
    c.AnswerJob: Ledger._answered,
    c.Redrive: Ledger._redriven,
    c.Cancel: Ledger._canceled,
    c.Expire: Ledger._expired,
    c.Reap: Ledger._reaped,
}
