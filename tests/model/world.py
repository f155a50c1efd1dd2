"""World: the model and the stores under the same commands, and what has been made in them so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import NEVER, JobRow, Place
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import Bench, fence_of, new_checkpoint, new_target
from tests.model.answers import attempt, comparable, difference
from tests.model.growing import HOW, Growing
from tests.model.stores import MODEL

T = TypeVar("T")
Tally = Counter[tuple[str, str]]

AGENTS = ["write", "review"]
QUEUES = [new_target(agent, priority=band).queue for agent in AGENTS for band in (0, 1)]
LANES = ["", "", "1" * 32, "2" * 32]
THREADS = ["run", "walk"]  # that jobs and savers meet on
FREE = "free"
COPIES = ["copy", "twin"]  # that checkpoints are imported to
NAMES = ["first", "best"]
KEYS = ["k", "l"]
SCOPES = ["", "s"]
PLACE_KEYS = ["a", "b", "c"]
RUNS = ["", "r", "q"]
LABELS = ["a", "b", "a\0"]
ITEM_KEYS = ["", "k", "l\1"]
# The clock moves by whole steps, and everything comes due at half steps, so that neither the time that the test itself
# takes nor a clock that is set back a little makes a difference.
STEP, HALF, A_LITTLE = 1_000_000, 500_000, 1_000
ALL = 5000
_STARTED, _ANY_JOB = "batonpass.job.started", "batonpass.job.*"
ENDED = ("completed", "failed", "canceled", "rejected")
_EACH = 4  # steps between two comparisons of all jobs


def of_queue(lane: str, queue: str) -> str:
    """A lane that only one queue has. On Redis, deliveries of several queues have no order in a lane if they were made
    ready in the same ms of the server's own clock."""
    return lane and lane[:8] + queue[8:]


class Picks:
    """Choices read off one number, so that an example is a list of names and numbers."""

    def __init__(self, number: int) -> None:
        self._left = number

    def below(self, limit: int) -> int:
        self._left, chosen = divmod(self._left, limit)
        return chosen

    def of(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def one_in(self, n: int) -> bool:
        return self.below(n) == n - 1

    def new_of(self, made: Sequence[T], window: int = 5) -> T:
        """One of those made last."""
        return made[-1 - self.below(min(len(made), window))]


class World:
    """The stores by name, and what their users know. The first item in each list is one that nobody made."""

    def __init__(self, benches: Mapping[str, Bench], tally: Tally) -> None:
        self.benches = benches
        self.model = benches[MODEL]
        self.tally = tally
        self.jobs = [mint("j")]
        self.fences = [c.Fence(self.jobs[0], 1, mint("l"))]
        self.checkpoints = [mint("c")]
        self.batches = [mint("l")]  # of consumers
        self.said: list[c.Command[Any]] = []
        self.rows: list[JobRow] = []
        self.staged: dict[c.Fence, tuple[c.Child, ...]] = {}
        self.growing = Growing()
        self.shared: list[str] = []  # checkpoints that were saved, with parts that others may share
        self._reaped = self._looks = 0

    def ask(self, command: c.Command[Any]) -> Any:
        """Carry a command out on every store; the model's answer, None if all refused in the same words."""
        if isinstance(command, c.Reap):
            self._space_reaps()
        answer, expected = attempt(self.model, command)
        for name, bench in self.benches.items():
            if name != MODEL:
                _, found = attempt(bench, command)
                assert found == expected, f"{name} answers {command} with {difference(found, expected)}"
        refused = answer is None and isinstance(expected, tuple)
        self.count(command, str(expected[0]) if refused and isinstance(expected, tuple) else "")
        return answer

    def _space_reaps(self) -> None:
        """A checkpoint that a job still needed when its time was over: on Redis it is looked at again a minute later,
        in the model by the next reap."""
        if self.model.clock.now < self._reaped + STEP - 2 * A_LITTLE:
            self.advance(STEP)
        self._reaped = self.model.clock.now

    def count(self, command: c.Command[Any], refused: str = "") -> None:
        """Note for the table that a command was carried out or refused."""
        self.tally[type(command).__name__, refused or "done"] += 1

    def say(self, command: c.Command[Any]) -> None:
        """Carry out a command that may be said again later, and learn from its answer."""
        self.said.append(command)
        self.learn(command, self.ask(command))

    def learn(self, command: c.Command[Any], answer: Any) -> None:
        """Remember what a command made."""
        if isinstance(command, c.Claim):
            self.fences += [fence_of(delivery) for delivery in answer]
        if isinstance(command, c.Submit) and answer and answer.id not in self.jobs:
            self.jobs.append(answer.id)
        if isinstance(command, c.Adopt) and command.job_id not in self.jobs:
            self.jobs.append(command.job_id)
        if isinstance(command, c.Import):
            self.checkpoints += [new.id for new in command.checkpoints]
        new: c.NewCheckpoint | None = getattr(command, "checkpoint", None)
        if new and new.id not in self.checkpoints:
            self.checkpoints.append(new.id)
            if new.spans and self.model.store.call(c.Ancestors(new.id, 1)):
                self.shared.append(new.id)

    def advance(self, milliseconds: int) -> None:
        """Move every store's clock."""
        for bench in self.benches.values():
            bench.clock.advance(milliseconds)

    # what a command is about

    def fence(self, pick: Picks) -> c.Fence:
        """Mostly one that is held, else one of those that were last, sometimes one that never was."""
        held = [row.fence for row in self.rows if row.lease]
        if held and not pick.one_in(3):
            return pick.of(held)
        fence = pick.new_of(self.fences)
        if pick.one_in(8):
            return replace(fence, token=fence.token + 1)
        return replace(fence, lease_id=self.fences[0].lease_id) if pick.one_in(8) else fence

    def job(self, pick: Picks, *states: str) -> str:
        """Mostly one in the states that are named."""
        fitting = [row.id for row in self.rows if row.state in states]
        return pick.of(fitting) if fitting and not pick.one_in(4) else pick.new_of(self.jobs)

    def thread(self, pick: Picks) -> str:
        """Any thread."""
        return pick.of([*THREADS, FREE, *self.jobs[-3:]])

    def thread_of(self, fence: c.Fence) -> str:
        """The thread of the job that the fence is of."""
        return next((row.thread for row in self.rows if row.id == fence.job_id), fence.job_id)

    def new(
        self, pick: Picks, thread: str, ttl: int = 0, base: str = "", place: Place | None = None
    ) -> c.NewCheckpoint:
        """A checkpoint to save: a small state, with and without a native part, or one that shares with another."""
        if pick.one_in(4):
            n = pick.below(8)
            return new_checkpoint(n, thread=thread, native=n if n % 4 == 0 else None, ttl=ttl, place=place)
        known = self.growing.ids if pick.one_in(6) else self.shared
        base = base or (pick.new_of(known, 3) if known and not pick.one_in(8) else "")
        how = pick.of([*HOW, HOW[0]])
        return self.growing.draft(len(self.growing.ids), base, how, thread=thread, ttl=ttl, place=place)

    # what must hold

    def _check_lines(self) -> None:
        """A job that waits in a lane's line is let out by a job that has a place there, or by the lane's gate."""
        records: Any = getattr(self.model.store, "_records")  # noqa: B009 - nobody else may look
        moving = {row.slot for row in self.rows}
        stuck = [
            row for row in self.rows if row.waits and row.lane not in moving and records.gate(row.lane) in (0, NEVER)
        ]
        assert not stuck, stuck

    def look(self) -> None:
        """Every job of the model is at one place: nothing is lost. Now and then all stores are asked."""
        self._looks += 1
        self.rows = self.model.do(c.ListJobs(ALL)) if self._looks % _EACH else self.ask(c.ListJobs(ALL))
        for row in self.rows:
            ended = row.state in ENDED
            waiting = row.state == "input_required"
            behind = row.reason == "thread_busy"
            timed = bool(row.due) and not waiting and not behind  # a question's time is no place of its own
            joining = row.reason == "waiting_children"
            places = [bool(row.ready), bool(row.lease and row.lease_until), timed, behind, waiting, joining, ended]
            places.append(bool(row.waits))
            assert sum(places) == 1, row
            if joining:
                self._check_family(row)
        self._check_lines()

    def _check_family(self, parent: JobRow) -> None:
        """A job that waits for children has some left, and continues when it has none."""
        unended = [row for row in self.rows if row.brood == parent.fan and row.state not in ENDED]
        store: Any = self.model.store
        staged = store._records.count_staged(parent.id)
        assert len(unended) + staged + parent.done + parent.lost == parent.children, parent
        assert parent.done < parent.need, parent
        assert parent.lost <= parent.spare, parent
        assert unended or staged, parent

    def _drain(self) -> None:
        """Whatever waits in a line comes to its turn."""
        one_each = {queue: c.Limits(of_queue("0" * 32, queue), concurrency=1, count=1, per=HALF) for queue in QUEUES}
        queues = tuple((queue, HALF) for queue in QUEUES)
        for _ in range(4 * len(self.rows) + 4):
            for row in self.ask(c.ListJobs(ALL)):
                if row.lease:
                    self.ask(c.Complete(row.fence, b"last"))
            self.advance(STEP)
            self.ask(c.Reap(limit=500))
            self.ask(c.Claim("w", queues, (mint("l"), mint("l")), one_each))
            if not any(row.ready or row.waits or row.lease for row in self.model.do(c.ListJobs(ALL))):
                return
        raise AssertionError("some never came to their turn")

    def compare_events(self, pick: Picks) -> None:
        """A page of events from a position, which is each store's own."""
        subject, limit, start = pick.of(["", self.job(pick)]), pick.below(4) + 1, pick.below(64)
        which = c.Which(
            pick.of(["", *AGENTS]), pick.of(["", "", *THREADS]), pick.of([(), (), (_STARTED,), (_ANY_JOB,)])
        )
        pages: list[object] = []
        for bench in self.benches.values():
            known = bench.do(c.Events(limit=ALL))
            last = bench.do(c.LastEvent())
            assert not known or known[-1].position == last
            after = known[start % len(known)].position if known else last
            pages.append(comparable(bench.do(c.Events(after, subject, limit, which, True))))
        assert pages == pages[:1] * len(pages)
        self.count(c.LastEvent())

    def compare_acks(self, group: str, batch: str, lease: int, done: int) -> None:
        """A batch is done up to a position, which is each store's own; the same number of its events are left."""
        found: list[object] = []
        for bench in self.benches.values():
            _, taken = attempt(bench, c.TakeEvents(group, batch, HALF, 5))
            rows = [row for each in getattr(_, "batches", ()) for row in each.rows]
            position = rows[min(done, len(rows)) - 1].position.rpartition("~")[2] if rows and done else ""
            found.append((taken, bench.do(c.AckEvents(group, batch, position, lease))))
        assert found == found[:1] * len(found)
        self.count(c.AckEvents(group, batch, "", lease))

    def compare_all(self) -> None:
        """Whatever can be asked is asked, and then done: the whole state is the same."""
        for thread in [*THREADS, FREE, *COPIES, *self.jobs]:
            self.ask(c.Timeline(thread, ALL))
            self.ask(c.Timeline(thread, ALL, named=True))
            for name in NAMES:
                self.ask(c.FindName(thread, name))
            self.ask(c.Export(thread))
            for place in [row.place for row in self.ask(c.Places(thread, None, limit=ALL, whole=True))]:
                self.ask(c.Find(thread, place.scope, place.key))
                self.ask(c.Find(thread, place.scope))
            self.ask(c.Latest(thread))
        for checkpoint in self.checkpoints:
            row = self.ask(c.Restore(checkpoint))
            if row and checkpoint in self.growing.ids:
                assert open_checkpoint(row).state == self.growing.state(checkpoint)
        for queue in QUEUES:
            self.ask(c.Takers(queue))
        self.ask(c.Declared())
        self.ask(c.Threads())
        self.ask(c.ListItems(indexed=True))
        self.ask(c.ListSpaces())
        for run in RUNS:
            self.ask(c.OfRun(run))
        self.ask(c.Pauses())
        for agent in AGENTS:
            self.ask(c.ResumeAgent(agent, tuple(QUEUES)))
        everything = c.Claim("w", tuple((queue, HALF) for queue in QUEUES), tuple(mint("l") for _ in range(100)))
        for wait in (0, 0, 10 * STEP):  # what is ready, what is due, what comes due; in its order, with its journals
            self.advance(wait)
            self.ask(everything)
            self.ask(c.Reap(limit=500))
        self.ask(c.Inbox(ALL))
        for row in self.ask(c.ListJobs(ALL)):
            self.ask(c.ReadKept(row.id))
            if row.fan:
                self.ask(c.ReadOutcomes(row.id, row.fan))
        self.ask(c.Events(limit=ALL))
        self._drain()
