"""ChildRunner: runs one delivery in a child process, whose code may block, crash, or never end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import anyio

from ...contracts.app import App
from ...contracts.duration import seconds_of
from ...contracts.errors import BatonpassError, Fenced, NotFound
from ...coordinator.blobs import open_envelope
from ...coordinator.commands import ReadKept, Restore
from ...coordinator.rows import Delivery
from ...coordinator.store import Store
from ..aside import Aside
from ..notes import Notes
from ..outcomes.closing import Closing
from ..pauses import PATIENCE
from ..session import LeaseSession
from .pool import Pool
from .start import Died

_log = logging.getLogger("batonpass.worker")
# Seconds that the write of a delivery's end may take: writes are retried while the store is away.
WRITING = PATIENCE + 5.0


class Late:
    """How long a child may take for a delivery: the agent's `timeout`, then what writing its end may take."""

    def __init__(self, timeout: float | None) -> None:
        self.scope = anyio.move_on_after(timeout)
        self.why = f"the attempt took longer than its timeout of {timeout:g} s" if timeout else ""

    def ends(self) -> None:
        """The agent has finished."""
        self.scope.deadline = anyio.current_time() + WRITING
        self.why = f"the end of the attempt was not written within {WRITING:g} s"


class ChildRunner:
    """Runs deliveries in the children of a pool. The child writes how a run ended, unless it is killed."""

    def __init__(
        self,
        app: App,
        store: Store,
        pool: Pool,
        closing: Closing,
        aside: Aside,
        notes: Notes,
        ends: Callable[[str], None],
    ) -> None:
        self._app = app
        self._store = store
        self._pool = pool
        self._closing = closing
        self._aside = aside
        self._notes = notes
        self._ends = ends

    def drain(self) -> None:
        """Give back every delivery at its next checkpoint."""
        self._pool.drain()

    async def run(self, about: str, delivery: Delivery) -> None:
        """Run a delivery. Kill the child if this is cancelled or the agent's time is up. `BadSetup` if there is no
        child: then nothing ran."""
        row = delivery.job
        fence = row.fence
        if (child := await self._pool.take()) is None:
            await self._closing.release(about, fence)
            return
        self._notes.away(row.lease)
        report, died = None, None
        late = Late(seconds_of(self._app[row.agent].timeout))

        def ends(aside: str, tip: str) -> None:
            self._ends(row.lease)
            late.ends()
            if aside:  # before the store has the job again, which this worker might claim at once
                self._aside.put(replace(row, tip=tip), aside)

        try:
            with late.scope:
                report = await child.run(delivery, ends)
        except Died as error:
            died = str(error)
        finally:
            self._pool.give_back(child, report)
        if died is not None:
            await self._closing.crash(about, fence, died)
        elif late.scope.cancelled_caught:
            await self._late(about, delivery, TimeoutError(late.why))
        elif report is None:
            await self._closing.release(about, fence)
        elif not report["aside"]:
            self._aside.take_back(row.queue)

    async def _late(self, about: str, delivery: Delivery, error: TimeoutError) -> None:
        agent = self._app[delivery.job.agent]
        try:
            session = await self._now(delivery)
        except Fenced as lost:
            self._closing.lost(about, lost)
            return
        except BatonpassError as problem:
            _log.error("%s: the failure was not written: %s", about, problem)
            return
        await self._closing.fail(about, agent, session, error, delivery.job)

    async def _now(self, delivery: Delivery) -> LeaseSession:
        """The delivery as its child left it, with the last checkpoint and what the fallback needs."""
        kept = await self._store.acall(ReadKept(delivery.job.id))
        row = kept.job
        if (row.token, row.lease) != (delivery.job.token, delivery.job.lease):
            raise Fenced(f"job {row.id}: the lease with token {delivery.job.token} is over")
        try:
            checkpoint = await self._store.acall(Restore(row.tip)) if row.tip else None
        except NotFound:
            checkpoint = None
        session = LeaseSession(self._store, Delivery(row, checkpoint, kept.journal), self._app)
        envelope = open_envelope(row.envelope, of=f"the envelope of job {row.id}")
        session.guard(envelope)
        if envelope.transcript is not None:
            session.inherit(envelope.transcript)
        return session
