"""Live workers, and what they serve."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from ..contracts.contract import ContractRef
from ..contracts.job import BANDS, JobState
from ..contracts.worker import WorkerInfo
from .book import Declaration, parse_ref, queue_of, readable
from .checkup import Examines, Load, Queued
from .coded.store import uncoded
from .commands import Declared, Pauses
from .presence import Present, began, open_present
from .rows import JobRow
from .store import Store

# So many older versions of a contract are looked at, besides those that were declared: a version may be a date.
_OLDER = 10
Taker = tuple[str, ContractRef]


def workers_of(store: Store) -> list[WorkerInfo]:
    """All live workers of an open store's namespace."""
    queues = queues_of(takers(readable(store.call(Declared()))))
    load = _counted(store, [queue for names in queues.values() for queue in names])
    return live_workers(load, queues, [row.agent for row in store.call(Pauses())])


def has_other(store: Store, queue: str, worker: str, version: str) -> bool:
    """Whether a live worker that takes from the queue may have other code: its app says another version, or it began
    later than that one, by their hosts' clocks. (If those are wrong, the job is parked by another worker, or tried by
    one more. No promise rests on it.)"""
    found = serving(_counted(store, [queue]), [queue])
    return any(each.version != version or began(each.id) > began(worker) for each in found)


def _counted(store: Store, queues: Sequence[str]) -> Load:
    counting = cast("Examines", uncoded(store))
    return counting.count(queues)


def takers(declared: Mapping[str, Declaration]) -> Iterator[Taker]:
    """Agents with the contracts that may wait for them: that of today, and older versions."""
    for name, declaration in sorted(declared.items()):
        accepts = declaration.accepts
        older = range(accepts.version, max(accepts.version - _OLDER, 1) - 1, -1)
        for ref in dict.fromkeys([*(ContractRef(accepts.name, each) for each in older), *declaration.others]):
            yield name, ref


def waited_for(rows: Iterable[JobRow]) -> Iterator[Taker]:
    """The agents and contracts that jobs wait for. An agent may have accepted another contract before, or may not have
    been declared yet."""
    for row in rows:
        if row.state == JobState.SUBMITTED:
            yield row.agent, parse_ref(row.contract)


def queues_of(found: Iterable[Taker]) -> dict[Taker, list[str]]:
    """The queues of agents, one for each priority."""
    return {taker: [queue_of(*taker, band) for band in BANDS.values()] for taker in found}


def serving(load: Load, queues: Sequence[str]) -> frozenset[Present]:
    """The live workers that take from some of the queues."""
    return frozenset(open_present(text) for queue in queues for text in load.queues.get(queue, Queued()).workers)


def live_workers(load: Load, queues: Mapping[Taker, Sequence[str]], paused: Collection[str] = ()) -> list[WorkerInfo]:
    """All live workers, those of an app together. `paused` are agents."""
    agents: dict[Present, dict[str, None]] = {}
    for (agent, _), names in queues.items():
        for worker in serving(load, names):
            agents.setdefault(worker, {})[agent] = None
    found = [
        WorkerInfo(**worker._asdict(), agents=tuple(sorted(names)), paused=tuple(sorted(names.keys() & set(paused))))
        for worker, names in agents.items()
    ]
    return sorted(found, key=lambda worker: (worker.app, worker.id))
