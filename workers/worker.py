"""Worker: serves an app's agents until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import anyio

from ..adapters.adapter import Adapter
from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.bounds import check_seconds, is_count
from ..contracts.duration import Duration, seconds_of
from ..contracts.errors import BadSetup
from ..contracts.inbox import AskTerms
from ..contracts.job import BANDS, DEFAULT_LEASE
from ..contracts.version import __version__
from ..coordinator.book import lane_of, numbers_of, queue_of
from ..coordinator.calls import adrive
from ..coordinator.calls.declaring import declaring
from ..coordinator.client import Coordinator
from ..coordinator.commands import Limits
from ..coordinator.presence import Present, close_present, new_worker
from ..coordinator.store import Store
from .adapters import check_memory, load_adapter
from .agreement import check_others, check_receivers
from .children.pool import Pool
from .children.settings import ChildSettings
from .claiming import Claimer
from .context.asking import asked_as
from .keeper import LeaseKeeper
from .late import told_if_late
from .running import Runner
from .scheduling import keep_schedules
from .single import alone
from .standstill import Standstill
from .threads import LeftBehind
from .upkeep import Alarm, keep_declared, keep_up, leave, stay

_log = logging.getLogger("batonpass.worker")


class Worker:
    """Runs an app's agents: those named in `agents` (None: all), at most `concurrency` deliveries at once.

    With `children`, agents that ask for a child process get one, and so do jobs that workers have died of. Otherwise
    everything runs in this process. `left` counts calls that still run in a thread although their job is over.
    `most_left` of them are too many (0: no limit).
    """

    def __init__(
        self,
        app: App,
        coordinator: Coordinator,
        *,
        agents: Sequence[str] | None = None,
        concurrency: int = 4,
        lease: Duration = DEFAULT_LEASE,
        children: ChildSettings | None = None,
        most_left: int = 0,
    ) -> None:
        if not is_count(concurrency):
            raise BadSetup(f"concurrency={concurrency!r}, but a worker needs at least 1 slot (a whole number)")
        self._lease = seconds_of(lease)
        check_seconds(self._lease, "lease")
        app.check()
        self.id = new_worker()
        self._app = app
        self._coordinator = coordinator
        self._book = coordinator.book.seen_by(app)
        if agents is not None and not agents:
            raise BadSetup("agents= (--agents) is empty: leave it out to serve all agents")
        self._agents: list[Agent[Any]] = [app[name] for name in agents] if agents is not None else list(app)
        if not self._agents:
            raise BadSetup(f"app {app.name!r} has no agents: declare some with @app.agent(...)")
        for agent in self._agents:
            asked_as(agent, AskTerms())  # contradictions are raised here
        self._concurrency = concurrency
        self._adapters: dict[str, Adapter] = {}
        self._runner: Runner | None = None
        self._claimer: Claimer | None = None
        self._stopping = False
        self.left = LeftBehind(most_left)
        apart = [agent for agent in self._agents if agent.isolated] if children else []
        self._here = [agent for agent in self._agents if agent not in apart]
        self._pool = children.pool(apart, concurrency) if children and apart else None
        self._quarantine = children.pool(self._here, concurrency, warm=False) if children and self._here else None

    async def prepare(self) -> None:
        """Import the frameworks of this worker's agents, and only those. Record the app's declarations. `close` ends
        what this starts."""
        kinds = sorted({agent.kind for agent in self._agents})
        with told_if_late(f"still loading {', '.join(kinds)}"):
            for kind in kinds:
                self._adapters[kind] = load_adapter(kind)  # for children too: a missing extra is raised here
        for agent in self._agents:
            check_memory(self._adapters[agent.kind], agent)
        theirs = await check_others(self._agents, self._app, self._coordinator)
        await adrive(self._coordinator.store, declaring(self._app, but=theirs))
        await check_receivers(self._agents, self._app, self._coordinator)
        if self._pool is not None:
            with told_if_late("still starting the processes of agents that have their own"):
                await self._pool.open()
        elif wishing := [agent.name for agent in self._agents if agent.isolated]:
            _log.info("%s: run in this process; `batonpass worker` gives them their own", ", ".join(wishing))

    async def close(self) -> None:
        """End the processes that `prepare` started."""
        with anyio.CancelScope(shield=True):
            for pool in self._pools:
                await pool.close()

    @property
    def _pools(self) -> list[Pool]:
        return [pool for pool in (self._pool, self._quarantine) if pool is not None]

    def stop(self) -> None:
        """Claim nothing more, and give running deliveries back at their next checkpoint."""
        self._stopping = True
        if self._claimer and self._runner:
            self._claimer.stop()
            self._runner.drain()

    def stop_now(self) -> None:
        """Give running deliveries back without waiting for a checkpoint."""
        self.stop()
        if self._runner:
            self._runner.stop()

    async def run(self) -> None:
        """Work until `stop`."""
        store = self._coordinator.store
        bands = [self._queues(priority) for priority in BANDS.values()]
        queues = {queue: lease for band in bands for queue, lease in band.items()}
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_closed_if_over, store)
            stack.enter_context(store.lifetime.prolonged())
            stack.enter_context(_more_threads(self._concurrency))
            lifespan = self._app.lifespan if self._here else None
            resources = await stack.enter_async_context(lifespan()) if lifespan else None
            sibling = store.sibling()
            keeper = LeaseKeeper(sibling, min(queues.values()))
            alarm, book = Alarm(), self._book
            pools = self._pool, self._quarantine
            runner = Runner(self._app, store, book, keeper, self._adapters, resources, *pools, self.left)
            present = close_present(Present(self.id, __version__, self._app.name, self._app.version))
            keeper.start(Standstill(runner.at_work, partial(stay, sibling, present, tuple(queues))))
            stack.push_async_callback(_stopped, keeper)
            claimer = Claimer(store, runner, self.id, bands, self._concurrency, self._limits(), alarm)
            self._runner, self._claimer = runner, claimer
            names = [agent.name for agent in self._agents]
            _log.info("worker %s serves %s on %s", self.id, ", ".join(names), self._coordinator.url)
            if self._stopping:
                return
            async with anyio.create_task_group() as upkeep:
                upkeep.start_soon(keep_up, store, present, tuple(queues), alarm)
                upkeep.start_soon(keep_schedules, store, book)
                upkeep.start_soon(keep_declared, store, self._app, names)
                for pool in self._pools:
                    upkeep.start_soon(pool.run)
                async with asyncio.TaskGroup() as deliveries:  # anyio's takes far longer to start a task
                    await claimer.run(deliveries)
                upkeep.cancel_scope.cancel()
            await leave(store, self._app, present, tuple(queues))
        _log.info("worker %s stopped", self.id)

    def _queues(self, priority: int) -> dict[str, int]:
        """The queues of one priority, each with the duration of its leases in ms."""
        return {
            queue_of(agent.name, ref, priority): int((seconds_of(agent.lease) or self._lease) * 1000)
            for agent in self._agents
            for ref in self._app.versions(agent.accepts)
        }

    def _limits(self) -> dict[str, Limits]:
        """The limits of agents that have some, by queue."""
        found: dict[str, Limits] = {}
        for agent in self._agents:
            for ref in self._app.versions(agent.accepts) if agent.bounds.limited else ():
                limits = Limits(lane_of(agent.name, ref), *numbers_of(agent))
                found |= {queue_of(agent.name, ref, band): limits for band in BANDS.values()}
        return found


async def _stopped(keeper: LeaseKeeper) -> None:
    with anyio.CancelScope(shield=True):  # also when the worker is cancelled: a thread must not outlive it
        await anyio.to_thread.run_sync(keeper.stop)


async def _closed_if_over(store: Store) -> None:
    if store.lifetime.over:  # it was closed while the worker ran
        with anyio.CancelScope(shield=True):
            await store.aclose()


@contextmanager
def _more_threads(number: int) -> Generator[None]:
    """More threads for this loop: each sync agent may block one, and the store's calls still need theirs."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens += number
    try:
        yield
    finally:
        limiter.total_tokens -= number


@asynccontextmanager
async def in_background(worker: Worker) -> AsyncGenerator[Worker]:
    """A worker that runs while the block does. At its end, running deliveries are given back."""
    await worker.prepare()
    with alone():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(worker.run)
            try:
                yield worker
            finally:
                worker.stop_now()
