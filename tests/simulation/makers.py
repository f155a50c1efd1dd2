"""Makers: ids that a seed determines, and the parts of commands that many actors need."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.job import OnBusy
from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import draft
from tests.harness.bench import new_target
from tests.model.growing import HOW, Growing
from tests.simulation.ledger import Ledger

AGENTS = ("write", "review", "publish")
_TARGETS = {agent: new_target(agent) for agent in AGENTS}
QUEUES = tuple(target.queue for target in _TARGETS.values())
JOBS = 16  # at most, so that each gets far
THREADS = ("t0", "t1", "t2")
ON_BUSY: tuple[OnBusy, ...] = ("reject", "queue", "queue", "interrupt", "rollback")


class Makers:
    """What is known about the store's content is only used to make commands that matter more often."""

    def __init__(self, random: Random, growing: Growing, ledger: Callable[[], Ledger]) -> None:
        self._random = random
        self._growing = growing
        self._shared = random.choice([0, 0, 0, 0.5])  # of the checkpoints; the others are small, and cheap
        self._ledger = ledger
        self._count = 0
        self._jobs: list[str] = [self.id("j")]

    def id(self, kind: str) -> str:
        """A new id; digits only, so that it is determined by the seed."""
        self._count += 1
        return f"{kind}{self._count:023}"

    def target(self) -> c.Target:
        return _TARGETS[self._random.choice(AGENTS)]

    def checkpoint(self, thread: str, ttl: int = 0) -> c.NewCheckpoint:
        """A checkpoint with content of its own; in some seeds many share with the thread's tip or with another one."""
        checkpoint_id = self.id("c")
        if self._random.random() >= self._shared:
            small = Snapshot(step="step", state=self._count)
            return draft(small, thread=thread, agent="write", ttl=ttl, checkpoint_id=checkpoint_id).new
        base = self._ledger().thread(thread).tip if self._random.random() < 0.8 else self.known_checkpoint()
        sharing = self._random.choice(HOW)
        return self._growing.draft(self._count, base, sharing, thread=thread, checkpoint_id=checkpoint_id, ttl=ttl)

    def submit(self) -> c.Command[Any]:
        """A job, with or without a key; after enough of them only old keys."""
        thread = self._random.choice(["", "", *THREADS])
        key = self._random.choice(["", "k0", "k1", "k2"])
        if len(self._jobs) > JOBS:
            return self.question()
        job_id = self.id("j")
        self._jobs.append(job_id)
        return c.Submit(
            job_id=job_id,
            thread=thread or job_id,
            target=self.target(),
            key=key,
            idem=key,
            payload_digest=self._random.choice(["p", "p", "p", "p", "q"]) if key else "",
            key_ttl=2_000,
            delay=self._random.choice([0, 0, 0, 100, 500]),
            origin=self.known_checkpoint() if self._random.random() < 0.15 else "",
            terms=c.Terms(on_busy=self._random.choice(ON_BUSY)),
        )

    def spawn(self, fence: c.Fence, last: c.NewCheckpoint | None) -> c.Spawn:
        """A few children, all or some of which are needed."""
        children = [c.Child(self.id("j"), number, self.target()) for number in range(self._random.randint(1, 3))]
        self._jobs += [child.job_id for child in children]
        need = self._random.randint(1, len(children))
        records = {f"fan{self._count}": b"1"}
        spare = self._random.choice([0, 1, len(children)])
        return c.Spawn(fence, self.id("f"), len(children), need, spare, tuple(children), last, records)

    @property
    def may_spawn(self) -> bool:
        """Whether there are few jobs so far."""
        return len(self._jobs) <= JOBS

    def is_poison(self, job_id: str) -> bool:
        """Whether the job kills every worker that takes it."""
        return self._jobs.index(job_id) % 13 == 5

    def job(self, state: str = "") -> str:
        """A job; mostly one in that state."""
        if state and self._random.random() < 0.8:
            fitting = [job.id for job in self._ledger().jobs.values() if job.state == state]
            if fitting:
                return self._random.choice(fitting)
        return self._random.choice(self._jobs)

    def asked(self, job_id: str) -> int:
        """A question of a job: any, mostly the newest, or the one before."""
        job = self._ledger().jobs.get(job_id)
        return self._random.choice([0, job.asked, job.asked, max(job.asked - 1, 0)]) if job else 0

    def known_checkpoint(self) -> str:
        """A checkpoint that was saved; mostly one that is still kept."""
        kept = list(self._ledger().kept)
        return self._random.choice(kept) if kept and self._random.random() < 0.9 else self.id("c")

    def question(self) -> c.Command[Any]:
        """Something that only reads."""
        what = self._random.randrange(3)
        if what == 0:
            return c.Restore(self.known_checkpoint())
        return c.ReadJob(self.job()) if what == 1 else c.Latest(self._random.choice(THREADS))
