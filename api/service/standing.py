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
from batonpass.coordinator.commands import Declared, ListJobs
from batonpass.coordinator.live_workers import Taker, live_workers, queues_of, serving, takers, waited_for

# Of so many of the newest jobs it is looked at which agents they wait for that no worker has declared.
_NEWEST = 100


@dataclass(frozen=True)
class Serving:
    """An agent that is declared, or that jobs wait for (its `kind` is "" then): how many jobs are ready for it, for how
    many seconds the first of them has been ready, the live workers that take them, and its pause."""

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
        self._others: dict[Taker, None] = {}  # what jobs waited for that no worker has declared
        self._one = CapacityLimiter(1)

    async def look(self) -> Standing:
        """How it stands now."""
        declared = readable(await self._asked.acall(Declared()))
        queues, load = await to_thread.run_sync(self._count, list(takers(declared)), limiter=self._one)
        paused = await adrive(self._asked, pauses())
        agents = tuple(_served(declared, queues, load, paused))
        waits = {each.agent for each in agents if each.waiting and not each.kind}
        self._others = {taker: None for taker in queues if taker[0] in waits}
        return Standing(load, agents, tuple(live_workers(load, queues, paused)))

    async def by_agent(self) -> Shares:
        """How many jobs run, are due later, ask or failed, by their agents. After a `look`."""
        return await to_thread.run_sync(cast("Examines", self._store).by_agent, limiter=self._one)

    def close(self) -> None:
        """Give the connection back."""
        self._store.close()

    def _count(self, known: list[Taker]) -> tuple[dict[Taker, list[str]], Load]:
        if not self._opened:
            self._store.open()
            self._opened = True
        newest = self._store.call(ListJobs(_NEWEST))
        queues = queues_of(dict.fromkeys([*known, *self._others, *waited_for(newest)]))
        load = cast("Examines", self._store).count([queue for names in queues.values() for queue in names])
        return queues, load


def _served(
    declared: Mapping[str, Declaration],
    queues: Mapping[Taker, list[str]],
    load: Load,
    paused: Mapping[str, Pause],
) -> Iterator[Serving]:
    """Each agent with all versions of its contract."""
    by_agent: dict[str, list[Taker]] = {}
    for taker in queues:
        by_agent.setdefault(taker[0], []).append(taker)
    for name, own in sorted(by_agent.items()):
        names = [queue for taker in own for queue in queues[taker]]
        there = [load.queues.get(queue, Queued()) for queue in names]
        declaration = declared.get(name)
        waiting = sum(queued.waiting for queued in there)
        if waiting or declaration:
            yield Serving(
                name,
                str(declaration.accepts if declaration else own[0][1]),
                declaration.kind if declaration else "",
                waiting,
                max(queued.oldest for queued in there) / 1000,
                tuple(sorted(worker.id for worker in serving(load, names))),
                paused.get(name),
            )
