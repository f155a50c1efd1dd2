"""Claiming: gets deliveries as soon as they are ready, and no more than there are free slots."""

from __future__ import annotations

import random
from asyncio import Event, TaskGroup, sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import monotonic

import anyio

from ..contracts.errors import Unavailable, Unreachable
from ..contracts.names import mint_some
from ..coordinator.commands import Claim, Claimed, Heartbeat, Limits
from ..coordinator.rows import Delivery
from ..coordinator.store import Store, Topic, Watch
from .running import Runner
from .slots import Slots
from .trouble import Trouble
from .upkeep import Alarm

# The longest wait of an idle worker between two looks, in seconds. Wake-ups shorten it. This bounds the cost of a
# lost one.
_LOOK = 4.0
# ... and of a worker that leaves some queues to others. It doesn't wait for wake-ups, because it would take theirs.
_ASIDE_LOOK = 1.0
# The share of claims that begin with one of the lower priorities.
_UPWARDS = 0.1
# Agents are quick if they finish in the loop turn that starts them, within this many seconds.
_QUICK = 0.05
# ... and a claim that gets fewer than this is not worth a second one beside it.
_ENOUGH = 2


class Claimer:
    """Claims deliveries for the free slots.

    `bands` map the queues of one priority to the duration of their leases in ms, the highest priority first. `limits`
    are the limits of some queues. Claims begin with the highest priority, except one in ten, which goes through all the
    lower ones first, in a random order. So under a load that never empties the higher queues, the lower ones get about
    that share, and none of them keeps another waiting.

    While there is more than it can take, and agents finish at once, two claims alternate, each for half the slots: the
    server carries out one while the agents of the other run.
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
        self._late = min(self._queues.values()) / 1000 / 4
        self._slots = Slots(concurrency)
        self._half = concurrency // 2
        runner.done = self._agent_done
        self._limits = limits
        self._alarm = alarm
        self._trouble = Trouble("can't claim")
        self._stop = anyio.Event()
        self._rush = Event()
        self._bare_wait: Watch | None = None  # the watch, while it is awaited without a claim

    def stop(self) -> None:
        """Claim nothing more."""
        self._stop.set()
        self._rush.set()

    async def run(self, tasks: TaskGroup) -> None:
        """Start claimed deliveries in `tasks` until stopped."""
        watch = self._store.watch(Topic(queues=tuple(self._queues)))
        try:
            await watch.aopen()
            async with anyio.create_task_group() as claiming:
                claiming.start_soon(self._interrupt, watch)
                claiming.start_soon(self._claim_beside, tasks)
                await self._claim_all(watch, tasks)
        finally:
            await watch.aclose()

    async def _interrupt(self, watch: Watch) -> None:
        await self._stop.wait()
        await watch.ainterrupt()

    async def _claim_all(self, watch: Watch, tasks: TaskGroup) -> None:
        found_nothing = False
        while not self._stop.is_set():
            if not self._slots.free:
                await self._slots.wait()
                continue
            found_nothing = not await self._claim(watch if found_nothing else None, tasks)

    async def _claim_beside(self, tasks: TaskGroup) -> None:
        """The second claim, in a rush."""
        while not self._stop.is_set():
            await self._rush.wait()
            if not self._slots.free:
                self._rush.clear()
            elif not self._stop.is_set():
                await self._claim(None, tasks)

    async def _claim(self, watch: Watch | None, tasks: TaskGroup) -> bool:
        """Claim, after a wait if there is a watch, and start what that brings. Returns whether it brought anything."""
        deliveries = await self._claimed(watch)
        if deliveries.due >= 0:
            self._alarm.due_in(deliveries.due / 1000)
        for delivery in deliveries:
            self._runner.hold(delivery, self._queues[delivery.job.queue])
        for delivery in deliveries:
            tasks.create_task(self._run(delivery))
        # Start the agents before sending the next claim: if one blocks the loop, the claim's reply lies unread, with
        # leases that nobody keeps. There is a second claim at the same time only while agents are quick.
        began = monotonic()
        await sleep(0)
        self._runner.notes.follow()
        quick = monotonic() - began < _QUICK and self._slots.have_none_of(each.job.lease for each in deliveries)
        if quick and len(deliveries) >= max(self._half, _ENOUGH):
            self._rush.set()
        elif not self._stop.is_set():
            self._rush.clear()
        return bool(deliveries)

    async def _claimed(self, watch: Watch | None) -> Claimed:
        try:
            if self._runner.aside.among(self._queues):
                return await self._claim_the_others(nap=watch is not None)
            if watch is None:
                return await self._reserving(self._asked)
            if not self._runner.busy:
                # Only one: each job has its own wake-up, and looking for more would delay this one. The next claim
                # looks for more.
                return await self._reserving(partial(self._store.acall_after, watch, _LOOK), 1)
            # For the same reason nothing is claimed from within a wait while an agent runs.
            self._bare_wait = watch
            try:
                await watch.await_(_LOOK)
            finally:
                self._bare_wait = None
            return await self._reserving(self._asked)
        except Unavailable as error:
            if isinstance(error, Unreachable) and error.lasting:
                raise  # waiting doesn't help, a restart may
            self._trouble.met(error)
            await anyio.sleep(random.uniform(0.2, 1.0))
            return Claimed()

    async def _claim_the_others(self, *, nap: bool) -> Claimed:
        if nap:
            with anyio.move_on_after(_ASIDE_LOOK):
                await self._stop.wait()
        return await self._reserving(self._asked)

    async def _reserving(self, ask: Callable[[Claim], Awaitable[Claimed]], most: int | None = None) -> Claimed:
        """Claim for the free slots. In a rush, for at most half of all slots."""
        leases: list[str] = []
        reserved = self._slots.reserve(most or (self._half if self._rush.is_set() else self._slots.count))
        try:
            command = self._for_slots(reserved)
            if self._stop.is_set() or not (reserved and command.queues):
                return Claimed()
            claimed = await ask(command)
            self._trouble.over()
            leases += [delivery.job.lease for delivery in claimed]
            return claimed
        finally:
            self._slots.take(reserved, leases)

    async def _asked(self, command: Claim) -> Claimed:
        """Claim. If that took long (an agent may have blocked the loop), check which leases are still ours."""
        began = monotonic()
        claimed = await self._store.acall(command)
        if not claimed or monotonic() - began < self._late:
            return claimed
        leases = [(job.fence, self._queues[job.queue]) for job in (d.job for d in claimed)]
        lost = await self._store.acall(Heartbeat(tuple(leases)))
        return Claimed((each for each, gone in zip(claimed, lost, strict=True) if not gone), due=claimed.due)

    def _for_slots(self, number: int) -> Claim:
        left_alone = self._runner.aside.among(self._queues)
        bands = self._bands
        if random.random() < _UPWARDS:
            highest, *lower = bands
            bands = [*random.sample(lower, len(lower)), highest]
        # Shuffled, so that no agent's queue starves another's.
        order = [queue for band in bands for queue in random.sample(band, len(band)) if queue not in left_alone]
        queues = tuple((queue, self._queues[queue]) for queue in order)
        return Claim(self._worker, queues, tuple(mint_some("l", number)), self._limits)

    async def _run(self, delivery: Delivery) -> None:
        try:
            await self._runner.run(delivery)
        finally:
            self._slots.done(delivery.job.lease)
        if self._bare_wait is not None and not self._runner.busy:
            watch, self._bare_wait = self._bare_wait, None
            await watch.ainterrupt()  # a new wait can include the claim, which saves the next job a round trip

    def _agent_done(self, lease: str) -> None:
        """Send the claim for the next delivery along with the write of this one's end, unless such writes pile up."""
        if self._runner.busy < 2 * self._slots.count:
            self._slots.done(lease)
