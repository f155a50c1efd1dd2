"""What is known of jobs and threads. The names are those of the store's rows, to be compared with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from batonpass.coordinator.commands import Command, Fence, NewCheckpoint, Release, Spawn, Suspend
from tests.model.growing import Growing

ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
# A job is at one place at any moment. In the order of a job's life, for tables.
PLACES = [
    *("none", "thread_busy", "scheduled", "retry_at", "sleeping", "ready", "working", "input_required"),
    "waiting_children",
    *("completed", "failed", "rejected", "canceled"),
]


class Violation(AssertionError):
    """The store broke a promise."""


@dataclass(slots=True)
class Job:
    """A job as it must be."""

    id: str
    thread: str
    queue: str
    tip: str
    began: str
    idem: str
    key_ttl: int
    state: str = "submitted"
    reason: str = "ready"
    hop: int = 0
    attempt: int = 1
    crashes: int = 0
    token: int = 0
    lease: str = ""
    lease_until: int = 0
    due: int = 0
    closed: str = ""
    asked: int = 0
    answered: str = ""
    escalated: int = 0
    asks: Suspend | None = None
    answer: bytes = b""
    result: bytes = b""
    forget_at: int = 0
    parent: str = ""
    brood: str = ""
    number: int = 0
    fan: str = ""
    verdict: str = ""
    children: int = 0
    need: int = 0
    spare: int = 0
    done: int = 0
    lost: int = 0
    journal: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def place(self) -> str:
        """Where it is: its state, or what it waits for."""
        waits = self.state == "submitted" or self.reason == "waiting_children"
        return self.reason if waits else self.state

    def lease_for(self, lease: str, token: int, until: int) -> None:
        self.state, self.reason, self.lease, self.token, self.lease_until = "working", "", lease, token, until

    def let_go(self, closed: str) -> None:
        self.lease, self.lease_until, self.closed = "", 0, closed

    def stop(self) -> None:
        """Somebody ends it, whoever holds it. What nobody has acted on yet is tried again, if it is redriven."""
        if not self.lease:
            if self.verdict == "broken" and self.closed.startswith("spawn "):
                self.verdict = "cut"
            if self.answered.endswith(" timeout") and self.closed.startswith("suspend "):
                self.answered = ""
        self.let_go("")

    def ask(self, question: Suspend, now: int) -> None:
        self.state, self.reason, self.answer = "input_required", "question", b""
        self.asked, self.escalated, self.asks = max(now, self.asked + 1), 0, question
        self.due = now + question.timeout if question.timeout else 0

    def take(self, answer: bytes, how: str) -> None:
        """Continue with an answer: a person's, the default, or none."""
        self.answer, self.answered = answer, f"{self.asked} {how}"
        self.make_ready()

    def overdue(self, now: int) -> None:
        """Nobody has answered in time."""
        assert self.asks is not None
        steps = self.asks.escalation.split("\n") if self.asks.escalation else []
        if self.escalated < len(steps):
            self.due = now + int(steps[self.escalated].split(" ")[0])
            self.escalated += 1
        else:
            self.take(self.asks.otherwise, "default" if self.asks.otherwise else "timeout")

    def make_ready(self) -> None:
        self.state, self.reason, self.due = "submitted", "ready", 0

    def next_hop(self, queue: str) -> None:
        self.make_ready()
        self.queue, self.hop, self.attempt, self.crashes = queue, self.hop + 1, 1, 0
        self.answer, self.journal, self.fan = b"", {}, ""

    def wait_for(self, spawn: Spawn) -> None:
        """Children have been made."""
        self.state, self.reason, self.fan, self.verdict = "working", "waiting_children", spawn.fan, ""
        self.children, self.need, self.spare = spawn.total, spawn.need, spawn.spare
        self.done = self.lost = 0
        self.journal |= spawn.records

    def count(self, child: Job) -> str:
        """A child has ended; the verdict, if that decides it."""
        completed = child.state == "completed"
        self.done += completed
        self.lost += not completed
        if self.lost > self.spare:
            return "broken"
        return "met" if self.done >= self.need or self.done + self.lost == self.children else ""

    def redrive(self) -> None:
        if self.fan and self.reason == "children":
            self.verdict = "cut"
        self.answered = "" if self.reason == "unanswered" else self.answered
        self.make_ready()
        self.attempt, self.crashes, self.closed = 1, 0, "redrive"

    def end(self, state: str, reason: str, now: int) -> None:
        self.state, self.reason, self.due = state, reason, 0
        if state != "failed":
            self.journal = {}
        if self.idem and not 0 < self.forget_at <= now:  # what is forgotten stays so
            self.forget_at = now + self.key_ttl


@dataclass(slots=True)
class Thread:
    """A thread as it must be; `line` is what is left of its checkpoints, oldest first, `waiting` the jobs in line."""

    name: str
    tip: str = ""
    count: int = 0
    job: str = ""
    line: list[str] = field(default_factory=list[str])
    waiting: list[str] = field(default_factory=list[str])

    def append(self, checkpoint_id: str) -> None:
        self.line.append(checkpoint_id)
        self.tip, self.count = checkpoint_id, self.count + 1


class Known:
    """Everything that is known: jobs, threads, checkpoints (their thread, their end, as they were saved), first uses of
    keys, and what shared states hold."""

    def __init__(self, growing: Growing) -> None:
        self.growing = growing
        self.jobs: dict[str, Job] = {}
        self.threads: dict[str, Thread] = {}
        self.kept: dict[str, tuple[str, int, NewCheckpoint]] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.closing: list[str] = []  # fan-outs whose children are to be canceled

    def thread(self, name: str) -> Thread:
        return self.threads.setdefault(name, Thread(name))

    def owns(self, fence: Fence) -> bool:
        """Whether that lease is the job's."""
        job = self.jobs.get(fence.job_id)
        return job is not None and job.lease == fence.lease_id and job.token == fence.token

    def excuses(self, command: Command[Any]) -> bool:
        """Whether it says that the last lease which ran out belonged to a worker that was only cut off."""
        if not isinstance(command, Release) or not command.cut_off:
            return False
        job = self.jobs.get(command.fence.job_id)
        return job is not None and job.state != "failed" and job.closed == f"expired {command.fence.lease_id}"

    def awaited(self, child: Job) -> bool:
        """Whether the parent of a child still waits for it, or for others beside it."""
        parent = self.jobs[child.parent]
        return parent.fan == child.brood and not parent.verdict

    def left_of(self, fan: str) -> list[Job]:
        """The children of a fan-out that have not ended, in order."""
        found = [job for job in self.jobs.values() if job.brood == fan and job.state not in ENDED]
        return sorted(found, key=lambda job: job.number)

    def needed(self, checkpoint_id: str) -> bool:
        """Whether a job would go on from it."""
        thread = self.thread(self.kept[checkpoint_id][0])
        return any(self.jobs[job].tip == checkpoint_id for job in (thread.job, *thread.waiting) if job)

    def first(self, idem: str, now: int) -> tuple[str, str] | None:
        """The job and the payload that a key was first used for, unless it is forgotten by now."""
        first = self.keys.get(idem) if idem else None
        return None if first and 0 < self.jobs[first[0]].forget_at <= now else first

    def shown(self, thread: Thread, now: int) -> list[str]:
        """A thread's checkpoints, newest first, without those that are over."""
        return [id_ for id_ in reversed(thread.line) if not 0 < self.kept[id_][1] <= now]

    def newest(self, thread: Thread, now: int) -> str:
        """The first of them, "" if there are none."""
        return next(iter(self.shown(thread, now)), "")

    def tip(self, thread: Thread, now: int) -> str:
        """A thread's tip. An expired checkpoint is no tip any more, whether it was freed or not."""
        return thread.tip if thread.tip in ("", *self.shown(thread, now)) else self.newest(thread, now)

    @property
    def ended(self) -> bool:
        """Whether every job has ended."""
        return all(job.state in ENDED for job in self.jobs.values())
