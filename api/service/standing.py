"""Standing: how much waits, runs and failed, and who is live. What the overview and the metrics show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from anyio import CapacityLimiter, to_thread

from batonpass.contracts.pause import Pause
from batonpass.contracts.worker import WorkerInfo
from batonpass.coordinator.book import Declaration, readable
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.pauses import pauses
from batonpass.coordinator.checkup import Examines, Load, Queued, Shares
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.coded.store import uncoded
from batonpass.coordinator.commands import Declared
from batonpass.coordinator.live_workers import Taker, live_workers, queues_of, serving, takers


@dataclass(frozen=True)
class Serving:
    """A declared agent: how many jobs are ready for it, for how many seconds the first of them has been ready, the live
    workers that take them, and its pause."""

    agent: str
    contract: str
    kind: str
    waiting: int
    oldest: float
    workers: tuple[str, ...]
    paused: Pause | None


@dataclass(frozen=True)
class Standing:
    """How a namespace stands at one moment."""

    load: Load
    agents: tuple[Serving, ...]
    workers: tuple[WorkerInfo, ...]


class Gauge:
    """Looks at how a coordinator's namespace stands, on its own connection, in a thread, one look at a time."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._asked = coordinator.store
        self._store = uncoded(coordinator.store.sibling())
        self._opened = False
        self._one = CapacityLimiter(1)

    async def look(self) -> Standing:
        """How it stands now."""
        declared = readable(await self._asked.acall(Declared()))
        queues = queues_of(takers(declared))
        load = await to_thread.run_sync(self._count, queues, limiter=self._one)
        paused = await adrive(self._asked, pauses())
        agents = tuple(_served(declared, queues, load, paused))
        return Standing(load, agents, tuple(live_workers(load, queues, paused)))

    async def by_agent(self) -> Shares:
        """How many jobs run, are due later, ask or failed, by their agents. After a `look`."""
        return await to_thread.run_sync(cast("Examines", self._store).by_agent, limiter=self._one)

    def close(self) -> None:
        """Give the connection back."""
        self._store.close()

    def _count(self, queues: Mapping[Taker, list[str]]) -> Load:
        if not self._opened:
            self._store.open()
            self._opened = True
        return cast("Examines", self._store).count([queue for names in queues.values() for queue in names])


def _served(
    declared: Mapping[str, Declaration],
    queues: Mapping[Taker, list[str]],
    load: Load,
    paused: Mapping[str, Pause],
) -> Iterator[Serving]:
    """Each agent with all versions of its contract."""
    for name, declaration in sorted(declared.items()):
        own = [queue for (agent, _), names in queues.items() if agent == name for queue in names]
        there = [load.queues.get(queue, Queued()) for queue in own]
        yield Serving(
            name,
            str(declaration.accepts),
            declaration.kind,
            sum(queued.waiting for queued in there),
            max(queued.oldest for queued in there) / 1000,
            tuple(sorted(worker.id for worker in serving(load, own))),
            paused.get(name),
        )
