"""Claiming: getting deliveries as soon as they are ready, and no more than there are slots for."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from ..contracts.errors import Unavailable
from ..contracts.names import mint
from ..coordinator.commands import Claim
from ..coordinator.rows import Delivery
from ..coordinator.store import Store, Topic
from .running import Runner

_log = logging.getLogger("batonpass.worker")
# The longest wait of an idle worker between two looks, in seconds: wake-ups make it short, this bounds what a lost
# one costs.
_LOOK = 3.0


class Claimer:
    """Claims for the slots that are free. `queues` maps a queue to its leases' duration in ms."""

    def __init__(self, store: Store, runner: Runner, worker: str, queues: Mapping[str, int], concurrency: int) -> None:
        self._store = store
        self._runner = runner
        self._worker = worker
        self._queues = queues
        self._free = concurrency
        self._freed = anyio.Event()
        self._stopped = False
        self._waiting: anyio.CancelScope | None = None

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopped = True
        if self._waiting:
            self._waiting.cancel()

    async def run(self, tasks: TaskGroup) -> None:
        """Start claimed deliveries in `tasks` until stopped."""
        watch = self._store.watch(Topic(queues=tuple(self._queues)))
        await watch.aopen()
        try:
            while not self._stopped:
                deliveries = await self._claim() if self._free else []
                for delivery in deliveries:
                    self._runner.hold(delivery, self._queues[delivery.job.queue])
                for delivery in deliveries:
                    self._free -= 1
                    tasks.start_soon(self._run, delivery)
                # Agents get going before the next claim is on its way: one that blocks the loop would leave its reply
                # lying, with leases that nobody keeps.
                await checkpoint()
                if not deliveries and not self._stopped:
                    with anyio.CancelScope() as self._waiting:
                        await (watch.await_(_LOOK) if self._free else self._slot())
        finally:
            await watch.aclose()

    async def _claim(self) -> list[Delivery]:
        queues = list(self._queues.items())
        random.shuffle(queues)  # no agent's queue starves another's
        leases = tuple(mint("l") for _ in range(self._free))
        try:
            return await self._store.acall(Claim(self._worker, tuple(queues), leases))
        except Unavailable as error:
            _log.warning("can't claim, trying again: %s", error)
            await anyio.sleep(random.uniform(0.2, 1.0))
            return []

    async def _run(self, delivery: Delivery) -> None:
        try:
            await self._runner.run(delivery)
        finally:
            self._free += 1
            self._freed.set()

    async def _slot(self) -> None:
        self._freed = anyio.Event()
        await self._freed.wait()
