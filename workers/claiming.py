"""Claiming: getting deliveries as soon as they are ready, and no more than there are slots for."""

from __future__ import annotations

import logging
import random
from asyncio import TaskGroup, sleep
from collections.abc import Mapping, Sequence

import anyio

from ..contracts.errors import Unavailable
from ..contracts.names import mint
from ..coordinator.commands import Claim, Claimed, Limits
from ..coordinator.rows import Delivery
from ..coordinator.store import Store, Topic, Watch
from .running import Runner
from .upkeep import Alarm

_log = logging.getLogger("batonpass.worker")
# The longest wait of an idle worker between two looks, in seconds: wake-ups make it short, this bounds what a lost
# one costs.
_LOOK = 4.0
# ... and of one that leaves some queues to others: it waits for no wake-up, because it would take theirs.
_ASIDE_LOOK = 1.0
# The share of claims that begin with the lowest priority.
_UPWARDS = 0.1


class Claimer:
    """Claims for the slots that are free. `bands` map the queues of one priority to their leases' duration in ms, the
    highest priority first; `limits` are those of some queues.

    What is ready there is taken first. One claim in ten begins with the lowest priority: under a load that would keep
    the higher ones from ever being empty, the lower ones get about that share.
    """

    def __init__(
        self,
        store: Store,
        runner: Runner,
        worker: str,
        bands: Sequence[Mapping[str, int]],
        concurrency: int,
        limits: Mapping[str, Limits],
        alarm: Alarm,
    ) -> None:
        self._store = store
        self._runner = runner
        self._worker = worker
        self._bands = [list(band) for band in bands]
        self._queues = {queue: lease for band in bands for queue, lease in band.items()}
        self._free = concurrency
        self._taken: set[str] = set()  # leases whose agents need their slots
        self._slots = concurrency
        runner.done = self._agent_done
        self._limits = limits
        self._alarm = alarm
        self._freed = anyio.Event()
        self._stop = anyio.Event()
        self._bare_wait: Watch | None = None  # the watch, while it is awaited without a claim

    def stop(self) -> None:
        """Claim nothing more."""
        self._stop.set()
        self._freed.set()

    async def run(self, tasks: TaskGroup) -> None:
        """Start claimed deliveries in `tasks` until stopped."""
        watch = self._store.watch(Topic(queues=tuple(self._queues)))
        try:
            await watch.aopen()
            async with anyio.create_task_group() as interrupting:
                interrupting.start_soon(self._interrupt, watch)
                await self._claim_all(watch, tasks)
        finally:
            await watch.aclose()

    async def _interrupt(self, watch: Watch) -> None:
        await self._stop.wait()
        await watch.ainterrupt()

    async def _claim_all(self, watch: Watch, tasks: TaskGroup) -> None:
        found_nothing = False
        while not self._stop.is_set():
            if not self._free:
                await self._slot()
                continue
            deliveries = await self._claim(watch if found_nothing else None)
            found_nothing = not deliveries
            if deliveries.due >= 0:
                self._alarm.due_in(deliveries.due / 1000)
            for delivery in deliveries:
                self._runner.hold(delivery, self._queues[delivery.job.queue])
            for delivery in deliveries:
                self._free -= 1
                self._taken.add(delivery.job.lease)
                tasks.create_task(self._run(delivery))
            # Agents get going before the next claim is on its way: one that blocks the loop would leave its reply
            # lying, with leases that nobody keeps.
            await sleep(0)

    async def _claim(self, watch: Watch | None) -> Claimed:
        """Claim, after a wait if there is a watch."""
        try:
            if self._runner.aside.among(self._queues):
                return await self._claim_the_others(nap=watch is not None)
            if watch is None:
                return await self._store.acall(self._for_free_slots())
            if not self._runner.busy:
                # One: there is a wake-up for each, and a look for more would delay its start. The next claim does that.
                return await self._store.acall_after(watch, _LOOK, self._for_free_slots(1))
            # For the same reason nothing is claimed from within a wait while an agent runs.
            self._bare_wait = watch
            try:
                await watch.await_(_LOOK)
            finally:
                self._bare_wait = None
            return Claimed() if self._stop.is_set() else await self._store.acall(self._for_free_slots())
        except Unavailable as error:
            _log.warning("can't claim, trying again: %s", error)
            await anyio.sleep(random.uniform(0.2, 1.0))
            return Claimed()

    async def _claim_the_others(self, *, nap: bool) -> Claimed:
        if nap:
            with anyio.move_on_after(_ASIDE_LOOK):
                await self._stop.wait()
        command = self._for_free_slots()
        return await self._store.acall(command) if command.queues and not self._stop.is_set() else Claimed()

    def _for_free_slots(self, most: int | None = None) -> Claim:
        left_alone = self._runner.aside.among(self._queues)
        bands = self._bands if random.random() >= _UPWARDS else self._bands[::-1]
        # Shuffled, so that no agent's queue starves another's.
        order = [queue for band in bands for queue in random.sample(band, len(band)) if queue not in left_alone]
        queues = tuple((queue, self._queues[queue]) for queue in order)
        leases = tuple(mint("l") for _ in range(most or self._free))
        return Claim(self._worker, queues, leases, self._limits)

    async def _run(self, delivery: Delivery) -> None:
        try:
            await self._runner.run(delivery)
        finally:
            self._done(delivery.job.lease)
        if self._bare_wait is not None and not self._runner.busy:
            watch, self._bare_wait = self._bare_wait, None
            await watch.ainterrupt()  # from now on the wait can claim: that spares the next job a round trip

    def _agent_done(self, lease: str) -> None:
        """The claim for the next one goes along with the write of this one's end, unless such writes are piling up."""
        if self._runner.busy < 2 * self._slots:
            self._done(lease)

    def _done(self, lease: str) -> None:
        """A slot is free."""
        if lease in self._taken:
            self._taken.remove(lease)
            self._free += 1
            self._freed.set()

    async def _slot(self) -> None:
        self._freed = anyio.Event()
        await self._freed.wait()
