"""Running deliveries, each from its claim to the one write that ends it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import anyio

from ..adapters.adapter import Adapter
from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.duration import seconds_of
from ..contracts.errors import (
    BadSetup,
    BatonpassError,
    Corrupted,
    Fenced,
    NotFound,
    OverBudget,
    Overloaded,
    Unavailable,
)
from ..contracts.handoff import Envelope
from ..contracts.versions import Outdated, Outgrown
from ..coordinator.blobs import open_envelope
from ..coordinator.book import Book
from ..coordinator.coded.codec import MissingKey, Unproven
from ..coordinator.commands import Command, Complete, Fail, HandOff, Restore, Sleep, Spawn, Suspend
from ..coordinator.operations.jobs import SUSPECT
from ..coordinator.rows import Delivery, JobRow
from ..coordinator.store import Store
from .aside import Aside, Lacking
from .attempts import Attempts
from .children.child_runner import WRITING, ChildRunner
from .children.pool import Pool
from .context.asking import check_answered
from .context.steps import ReplayMismatch
from .damaged import bared, damage
from .keeper import LeaseKeeper
from .leaving import Leaving
from .notes import About, Notes
from .outcomes.closing import Closing
from .session import Drained, LeaseSession
from .single import single
from .spans import attempt_span
from .threads import Calls, LeftBehind
from .trouble import Troubles
from .underway import AtWork, Underway

T = TypeVar("T")
_log = logging.getLogger("batonpass.worker")
# The errors of code that may be another than that which began the job.
_OTHER_CODE = (Outdated, Outgrown, ReplayMismatch)


class Runner:
    """Runs the deliveries of one worker, each in its own task of the worker's loop, or in a child process.

    The agents of `pool` run in its children. Deliveries that workers have died of run in those of `quarantine`. Without
    a keeper, this runner is itself in a child. Then the worker keeps the leases, and kills the child when a lease or an
    attempt's time is over.
    """

    def __init__(
        self,
        app: App,
        store: Store,
        book: Book,
        keeper: LeaseKeeper | None,
        adapters: Mapping[str, Adapter],
        resources: Any,
        pool: Pool | None = None,
        quarantine: Pool | None = None,
        left: LeftBehind | None = None,
    ) -> None:
        self._app = app
        self._store = store
        self._keeper = keeper
        self._attempts = Attempts(app, store, book, adapters, resources)
        self.aside, self.notes = Aside(), Notes()
        self._left = left or LeftBehind()
        self._closing = Closing(store, book, self._ends)
        self._leaving = Leaving(store, self._closing, self.aside, app.version)
        self._isolated = self._in_children(pool) if pool else None
        self._isolated_agents = pool.agents if pool else frozenset[str]()
        self._quarantine = self._in_children(quarantine) if quarantine else None
        self._loop, self._host = asyncio.get_running_loop(), asyncio.current_task()
        self._running: dict[str, Underway] = {}  # by lease
        self._over: dict[str, str] = {}  # leases lost before their delivery ran
        self._ending: set[str] = set()  # leases whose end we are writing
        # Called with the lease of each delivery whose agent is done, and of each whose end is about to be written.
        self.done: Callable[[str], None] | None = None
        self.ends: Callable[[str], None] | None = None
        self._trouble = Troubles("agents' writes fail")  # of all deliveries together
        self._most = {agent.name: _most(agent) for agent in app}
        self._draining = False
        self._stopping = False

    @property
    def busy(self) -> int:
        """How many deliveries are running."""
        return len(self._running)

    def at_work(self, task: asyncio.Task[Any]) -> AtWork | None:
        """Whose code a task of this loop runs, if that is sure. Callable from any thread."""
        return next((each.at_work for each in list(self._running.values()) if each.has(task)), None)

    def drain(self) -> None:
        """Give back every running delivery at its next checkpoint."""
        self._draining = True
        for running in list(self._running.values()):
            if running.session is not None:
                running.session.draining = True
        for runner in (self._isolated, self._quarantine):
            if runner is not None:
                runner.drain()

    def stop(self) -> None:
        """Give back every running delivery now. Its current step will run again."""
        self._stopping = True
        for running in self._running.values():
            running.cancel()

    def hold(self, delivery: Delivery, duration: int) -> None:
        """Keep the lease of a delivery that was claimed for `duration` ms, from now to the end of its `run`.

        Call this before running any delivery of the same claim: one that blocks the loop must not cost the others their
        lease.
        """
        row = delivery.job
        if self._keeper is None:
            return
        most = math.inf if self._child_runner_for(row) else self._most.get(row.agent, WRITING)
        self._keeper.hold(row.fence, duration, self._lost, most)

    async def run(self, delivery: Delivery) -> None:
        """Run a delivery that is held. Never raises: what goes wrong is recorded in the job."""
        try:
            await self._run(delivery)
        except Exception:  # the jobs beside it must continue, and others may try this one when its lease expires
            _log.exception("job %s: given up until its lease expires", delivery.job.id)
        finally:
            if self._keeper is not None:
                self._keeper.drop(delivery.job.lease)
            self._over.pop(delivery.job.lease, None)
            self._ending.discard(delivery.job.lease)
            self.notes.over(delivery.job.lease)

    async def _run(self, delivery: Delivery) -> None:
        row = delivery.job
        about = About.of(row)
        if self._keeper is not None:
            if self.aside.meets(row):
                await self._closing.release(about, row.fence, aside=True)
                return
            self.notes.begun(about, delivery)
        if (runner := self._child_runner_for(row)) and await self._ran_in_child(about, delivery, runner):
            return
        try:
            session, envelope = await self._opened(delivery)
        except BatonpassError as error:
            await self._unopened(about, delivery, error)
            return
        if self._draining:  # it was claimed while the worker was stopping
            await self._closing.release(about, session.fence)
            return
        await self._held(about, row, session, self._attempt(about, row, envelope, session))

    def _in_children(self, pool: Pool) -> ChildRunner:
        return ChildRunner(self._app, self._store, pool, self._closing, self.aside, self.notes, self._ends)

    def _child_runner_for(self, row: JobRow) -> ChildRunner | None:
        """What runs a job in a child, if it needs one."""
        if damage(row, self._most):
            return None
        if row.agent in self._isolated_agents:
            return self._isolated
        # The next process that it kills dies alone.
        return self._quarantine if row.crashes >= SUSPECT else None

    async def _ran_in_child(self, about: About, delivery: Delivery, runner: ChildRunner) -> bool:
        """Run a delivery in a child. Returns whether nothing more can be done with it here."""
        row = delivery.job
        if runner is self._quarantine:
            _log.warning("%s: %d workers died while they ran it, so it gets its own process", about, row.crashes)
        try:
            await self._held(about, row, None, runner.run(about, delivery))
        except BadSetup as error:
            if runner is self._quarantine:
                _log.warning("%s: it runs in this worker, because it can't get its own process: %s", about, error)
                if self._keeper is not None:
                    self._keeper.limit(row.lease, self._most[row.agent])
                return False
            self.notes.over(row.lease)
            await self._leaving.leave(about, row, f"can't run it: {error}")
        return True

    async def _held(
        self, about: About, row: JobRow, session: LeaseSession | None, work: Coroutine[Any, Any, None]
    ) -> None:
        """Work on a delivery until its lease is over or this worker stops."""
        running = self._running[row.lease] = Underway(session, self._host)
        if session is not None and self._draining:  # it has just begun: a child is told of it in another thread
            session.draining = True
        if status := self._over.get(row.lease):
            running.lose(status)
        try:
            await work
            return
        except asyncio.CancelledError:
            if not running.caught():
                raise
        finally:
            del self._running[row.lease]
        if self._stopping:
            await self._closing.release(about, row.fence)
        elif self._over.get(row.lease) == "canceled":
            self._closing.canceled(about)
        else:
            _log.warning("%s: stopped, the lease with token %d has ended", about, row.token)

    def _lost(self, lease: str, status: str) -> None:
        """From the keeper's thread: writes no longer count, so cancel running code where possible."""
        if lease in self._ending:  # perhaps we have ended it ourselves: the reply to our write tells
            return
        self._over[lease] = status
        if running := self._running.get(lease):
            if running.session is not None:
                running.session.lose(status)
            # In the turn after the next, when even a blocked loop has read what the child sent before.
            self._loop.call_soon_threadsafe(self._loop.call_soon, self._cancel, lease)

    def _cancel(self, lease: str) -> None:
        if (running := self._running.get(lease)) and lease not in self._ending:
            running.cancel()

    def _ends(self, lease: str) -> None:
        self._ending.add(lease)
        if self.ends is not None:
            self.ends(lease)

    async def _opened(self, delivery: Delivery) -> tuple[LeaseSession, Envelope]:
        if damaged := damage(delivery.job, self._most):
            raise Corrupted(damaged)
        envelope = open_envelope(delivery.job.envelope, of=f"the envelope of job {delivery.job.id}")
        session = await self._session(delivery)
        session.trouble = self._trouble
        session.guard(envelope)
        return session, envelope

    async def _session(self, delivery: Delivery) -> LeaseSession:
        try:
            return self._begun(delivery)
        except Corrupted:
            if delivery.checkpoint is None:
                raise
        # A large state is read in a second step. If it is another thread's, it may have been deleted in between.
        try:
            again = await self._store.acall(Restore(delivery.checkpoint.id))
        except NotFound:
            again = None  # as if it had been deleted before the claim
        try:
            return self._begun(replace(delivery, checkpoint=again))
        except Corrupted:
            if again is None or again.thread == delivery.job.thread:
                raise
        # The job was forked from there and doesn't need it. It only shares less storage.
        return LeaseSession(self._store, replace(delivery, checkpoint=None), self._app)

    def _begun(self, delivery: Delivery) -> LeaseSession:
        row = delivery.job
        # What it was forked from may be deleted. What it saved itself is kept for it.
        if delivery.checkpoint is None and row.tip not in ("", row.began):
            raise Corrupted(
                f"checkpoint {row.tip}, from which job {row.id} would go on, is gone from the store: "
                "fork an older one of its thread, or submit the job again"
            )
        return LeaseSession(self._store, delivery, self._app)

    async def _unopened(self, about: About, delivery: Delivery, error: BatonpassError) -> None:
        """What was claimed can't be read. If only this worker can't read it, leave it to another one."""
        row = delivery.job
        self.notes.over(row.lease)
        if isinstance(error, Unavailable):
            await self._gave_up(about, row, error)
            return
        if isinstance(error, MissingKey | Unproven):
            await self._leaving.leave(about, row, f"can't read it: {error}")
            return
        bare = Delivery(bared(row), None)
        if isinstance(error, _OTHER_CODE):
            bare = replace(bare, journal=delivery.journal)
        await self._failed(about, row, None, LeaseSession(self._store, bare), error)

    async def _attempt(self, about: About, row: JobRow, envelope: Envelope, session: LeaseSession) -> None:
        agent, calls = self._app[row.agent], Calls()
        calls.enter()
        self._running[row.lease].at_work = AtWork(about, agent, calls)
        try:
            command = await self._outcome(agent, envelope, session)
            self.aside.take_back(row.queue)
            await self._end(about, session, command)
        except Drained:
            await self._closing.release(about, session.fence)
        except Lacking as error:
            await self._leaving.leave(about, row, f"can't read it: {error}")
        except OverBudget as error:
            await self._closing.fail(about, agent, session, error, row)
        except Fenced as lost:
            self._closing.lost(about, lost)
        except BaseException as error:
            if self._running[row.lease].stopped_by(error):
                raise
            away = self._trouble.of(row.lease)
            if away is None or _is_queue_full(error):
                await self._failed(about, row, agent, session, single(error))
            else:
                await self._gave_up(about, row, away)
        finally:
            session.trouble = None  # for threads of it that write on
            if session.told is not None:
                session.told.end()
            self._trouble.gave_up(row.lease)
            self._left.take(about, calls)

    async def _outcome(self, agent: Agent[Any], envelope: Envelope, session: LeaseSession) -> Command[None]:
        try:
            session.check()
            check_answered(agent, session)
            timeout = seconds_of(agent.timeout) if self._keeper is not None else None
            with attempt_span(self._app.tracer, session):
                work = self._attempts.run(agent, envelope, session)
                return await (work if timeout is None else _in_time(timeout, work))
        finally:
            self.notes.over(session.fence.lease_id)

    async def _failed(
        self, about: About, row: JobRow, agent: Agent[Any] | None, session: LeaseSession, error: BaseException
    ) -> None:
        try:
            if isinstance(error, _OTHER_CODE) and await self._leaving.to_other_code(about, row, session, error):
                return
            # What its code reads, here or in another store, can't be had now. That may be over soon.
            away = isinstance(error, Unavailable) and not _is_queue_full(error)
            if away and await self._leaving.for_now(about, row, session, f"gave it up: {error}"):
                return
        except Unavailable as then:
            _log.error("%s: given up until its lease expires: %s, and then: %s", about, error, then)
            return
        self.aside.take_back(row.queue)
        await self._closing.fail(about, agent, session, error, row)

    async def _gave_up(self, about: About, row: JobRow, away: Exception) -> None:
        """The store does not take what the job writes. That is no fault of the job, so it must not count as one."""
        if isinstance(away, Overloaded):  # its lease is kept, and so would not be given back later
            await self._leaving.leave(about, row, f"gave it up: {away}", "job")
        else:
            _log.error("%s: given up until its lease is given back or expires: %s", about, away)

    async def _end(self, about: About, session: LeaseSession, command: Command[None]) -> None:
        if self.done is not None:
            self.done(session.fence.lease_id)
        self._ends(session.fence.lease_id)
        await session.awrite(command)
        if isinstance(command, HandOff):
            self.notes.ended(about, f"handed off to {command.target.agent}")
        else:
            self.notes.ended(about, _ENDS[type(command)])


_ENDS: dict[type, str] = {
    Complete: "completed",
    Suspend: "waits for an answer",
    Spawn: "waits for its children",
    Sleep: "sleeps",
    Fail: "rejected",
}


def _is_queue_full(error: BaseException) -> bool:
    """Whether it is another agent's back-pressure, which is an error of the code that submits to it."""
    return isinstance(error, Overloaded) and bool(error.agent)


def _most(agent: Agent[Any]) -> float:
    """How long to keep a lease for a delivery that runs here: code that blocks this loop can't be stopped in time."""
    return (seconds_of(agent.timeout) or math.inf) + WRITING


async def _in_time(timeout: float, attempt: Coroutine[Any, Any, T]) -> T:
    with anyio.move_on_after(timeout):
        return await attempt
    raise TimeoutError(f"the attempt took longer than its timeout of {timeout:g} s")
