"""Whatever is done in whatever order, every store answers as the model (memory) does, and keeps the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Delivery, EventRow, JobRow
from tests.harness.bench import Bench, fence_of, new_checkpoint, new_job, new_target
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness

AGENTS = ["write", "review"]
THREADS = ["", "", "run", "walk"]
KEYS = ["", "k", "l"]
# Far apart, so that the time that the test itself takes never decides.
STEP, LEASE, KEY_TTL = 1_000_000, 2_500_000, 1_500_000

some = st.integers(min_value=0, max_value=50)


class Twins(RuleBasedStateMachine):
    """A store and the model, given the same commands at the same times."""

    def __init__(self, make: Callable[[], Harness]) -> None:
        super().__init__()
        self.twins = [Bench(harness, side="sync") for harness in (make(), MemoryHarness())]
        self.jobs: list[str] = [mint("j")]
        self.fences: list[c.Fence] = [c.Fence(self.jobs[0], 1, mint("l"))]
        self.checkpoints: list[str] = [mint("c")]
        self.endings: list[c.Command[Any]] = []

    def both(self, command: c.Command[Any]) -> Any:
        """Carry a command out on both; the answer, None if both refused in the same words."""
        answers = [attempt(bench, command) for bench in self.twins]
        assert answers[0][1] == answers[1][1], f"{command}"
        return answers[1][0]

    def fence(self, n: int) -> c.Fence:
        """Mostly one of the newest leases, held or not."""
        return self.fences[-1 - n % min(len(self.fences), 6)]

    @rule(
        n=some, thread=st.sampled_from(THREADS), key=st.sampled_from(KEYS), delayed=st.booleans(), origin=st.booleans()
    )
    def submit(self, n: int, thread: str, key: str, delayed: bool, origin: bool) -> None:
        command = new_job(AGENTS[n % 2], thread=thread, key=key, payload=str(n % 3), key_ttl=KEY_TTL)
        tip = self.checkpoints[n % len(self.checkpoints)] if origin else ""
        row = self.both(replace(command, delay=STEP * (n % 3) if delayed else 0, origin=tip))
        if row is not None:
            self.jobs.append(row.id)

    @rule(wanted=st.integers(1, 3), agents=st.permutations(AGENTS))
    def claim(self, wanted: int, agents: list[str]) -> None:
        queues = tuple((new_target(agent).queue, LEASE) for agent in agents)
        found = self.both(c.Claim("w", queues, tuple(mint("l") for _ in range(wanted))))
        self.fences += [fence_of(delivery) for delivery in found]

    @rule(n=some, records=st.integers(0, 2))
    def save(self, n: int, records: int) -> None:
        fence = self.fence(n)
        new = new_checkpoint(n, thread=fence.job_id)
        self.both(c.Save("x", new, fence, records={f"r{n % 4}/{i}": b"%d" % n for i in range(records)}))
        self.checkpoints.append(new.id)

    @rule(n=some, thread=st.sampled_from(["run", "walk", "free"]), parent=st.booleans(), branch=st.booleans())
    def save_outside(self, n: int, thread: str, parent: bool, branch: bool) -> None:
        new = new_checkpoint(n, thread=thread, ttl=STEP * (n % 3) if thread == "free" else 0)
        chosen = self.checkpoints[-1 - n % min(len(self.checkpoints), 4)] if parent else ""
        self.both(c.Save(thread, new, parent=chosen, branch=branch))
        self.checkpoints.append(new.id)

    @rule(
        n=some, how=st.sampled_from(["hand_off", "complete", "fail", "retry", "suspend", "release"]), last=st.booleans()
    )
    def end(self, n: int, how: str, last: bool) -> None:
        fence, new = self.fence(n), new_checkpoint(n) if last else None
        command: c.Command[Any] = {
            "hand_off": c.HandOff(fence, new_target(AGENTS[n % 2]), new),
            "complete": c.Complete(fence, b"%d" % n, new),
            "fail": c.Fail(fence, f"boom {n}", "attempts"),
            "retry": c.Fail(fence, f"boom {n}", "", retry_in=STEP * (n % 3)),
            "suspend": c.Suspend(fence, b"%d" % n, new),
            "release": c.Release(fence),
        }[how]
        self.both(command)
        self.endings.append(command)
        if new is not None:
            self.checkpoints.append(new.id)

    @rule(n=some)
    def end_again(self, n: int) -> None:
        if self.endings:
            self.both(self.endings[-1 - n % min(len(self.endings), 5)])

    @rule(n=some)
    def beat(self, n: int) -> None:
        self.both(c.Heartbeat(((self.fence(n), LEASE), (self.fence(n + 1), LEASE))))

    @rule(n=some, what=st.sampled_from(["cancel", "answer", "expire", "record"]))
    def other(self, n: int, what: str) -> None:
        job_id = self.jobs[-1 - n % min(len(self.jobs), 6)]
        if what == "cancel" and n % 3:
            return
        self.both(
            {
                "cancel": c.Cancel(job_id),
                "answer": c.AnswerJob(job_id, b"%d" % (n % 2)),
                "expire": c.Expire(self.checkpoints[-1 - n % min(len(self.checkpoints), 6)]),
                "record": c.Record(self.fence(n), {f"r{n % 4}": b"%d" % n}),
            }[what]
        )

    @rule(limit=st.integers(1, 3))
    def reap(self, limit: int) -> None:
        self.both(c.Reap(limit=limit))

    @rule()
    def let_time_pass(self) -> None:
        for bench in self.twins:
            bench.clock.advance(STEP)

    @invariant()
    def the_same_jobs(self) -> None:
        self.both(c.ListJobs(500))

    @invariant()
    def every_job_is_somewhere(self) -> None:
        """Deliverable, leased, scheduled, waiting, or ended: nothing is lost."""
        for row in self.twins[0].do(c.ListJobs(500)):
            places = [
                bool(row.ready),
                bool(row.lease and row.lease_until),
                bool(row.due),
                row.state == "input_required",
            ]
            ended = row.state in ("completed", "failed", "canceled", "rejected")
            assert sum([*places, ended]) == 1, row

    def teardown(self) -> None:
        for thread in {*THREADS, "free", *self.jobs}:
            self.both(c.Timeline(thread, 500))
            self.both(c.Latest(thread))
        for checkpoint in self.checkpoints:
            self.both(c.Restore(checkpoint))
        self.both(c.Events(limit=5000))
        for bench in self.twins:
            bench.close()


def attempt(bench: Bench, command: c.Command[Any]) -> tuple[Any, object]:
    """The answer, and what must be equal of it."""
    try:
        answer = bench.do(command)
    except bp.BatonpassError as error:
        return None, (type(error), str(error))
    return answer, comparable(answer)


def comparable(answer: Any) -> object:
    """Places in queues and positions of events are each store's own; times of events are the server's on Redis."""
    if isinstance(answer, list):
        return [comparable(item) for item in answer]
    if isinstance(answer, JobRow):
        return replace(answer, ready=int(bool(answer.ready)))
    if isinstance(answer, EventRow):
        return {name: value for name, value in answer.fields.items() if name != "time"}
    if isinstance(answer, Delivery):
        # Whose thread an origin is on, its own header says.
        checkpoint = replace(answer.checkpoint, thread="") if answer.checkpoint else None
        return (comparable(answer.job), checkpoint, dict(answer.journal))
    return answer


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_as_the_model(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    opened: list[RedisHarness] = []

    def make() -> Harness:
        if kind == "sqlite":
            return SqliteHarness(tmp_path / f"{mint('j')}.db")
        opened.append(RedisHarness(request.getfixturevalue("redis_server")))
        return opened[-1]

    twins: Any = lambda: Twins(make)  # noqa: E731 - declared as a class, called as a factory
    few = settings(
        max_examples=25,
        stateful_step_count=40,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    try:
        run_state_machine_as_test(twins, settings=few)
    finally:
        for harness in opened:
            harness.close()
