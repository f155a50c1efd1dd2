"""Live workers: what they serve, and whether their versions agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from batonpass.contracts.contract import ContractRef
from batonpass.contracts.job import BANDS
from batonpass.coordinator.book import Declaration, queue_of
from batonpass.coordinator.checkup import Finding, Load, Queued
from batonpass.coordinator.presence import Present, open_present

# So many older versions of a contract are looked at: a version may be a date.
_OLDER = 10
Taker = tuple[str, ContractRef]


@dataclass(frozen=True, kw_only=True)
class LiveWorker:
    """A worker that is live: its version of Batonpass, its app and that one's version, "" if it has none, and the
    agents that it serves."""

    id: str
    batonpass: str
    app: str
    version: str
    agents: tuple[str, ...]


def takers(declared: Mapping[str, Declaration]) -> Iterator[Taker]:
    """Agents with the contracts that may wait for them: that of today, and older versions."""
    for name, declaration in sorted(declared.items()):
        accepts = declaration.accepts
        for version in range(accepts.version, max(accepts.version - _OLDER, 1) - 1, -1):
            yield name, ContractRef(accepts.name, version)


def queues_of(found: Iterable[Taker]) -> dict[Taker, list[str]]:
    """The queues of agents, one for each priority."""
    return {taker: [queue_of(*taker, band) for band in BANDS.values()] for taker in found}


def serving(load: Load, queues: Sequence[str]) -> frozenset[Present]:
    """The live workers that take from some of the queues."""
    return frozenset(open_present(text) for queue in queues for text in load.queues.get(queue, Queued()).workers)


def live_workers(load: Load, queues: Mapping[Taker, Sequence[str]]) -> list[LiveWorker]:
    """All live workers, those of an app together."""
    agents: dict[Present, dict[str, None]] = {}
    for (agent, _), names in queues.items():
        for worker in serving(load, names):
            agents.setdefault(worker, {})[agent] = None
    found = [LiveWorker(**worker._asdict(), agents=tuple(sorted(names))) for worker, names in agents.items()]
    return sorted(found, key=lambda worker: (worker.app, worker.id))


def judged(workers: Sequence[LiveWorker]) -> Iterator[Finding]:
    """Which versions live workers have; two of one thing are a deploy that is not over."""
    running: dict[str, dict[str, list[str]]] = {}
    for worker in workers:
        running.setdefault("Batonpass", {}).setdefault(worker.batonpass, []).append(worker.id)
        running.setdefault(f"app {worker.app}", {}).setdefault(worker.version, []).append(worker.id)
    for what, versions in running.items():
        if len(versions) > 1:
            told = "; ".join(f"{name or 'no version'}: {', '.join(ids)}" for name, ids in sorted(versions.items()))
            text = f"live workers run several versions of {what} ({told})"
            yield Finding("warn", "workers", f"{text}: unless a deploy is in progress, stop the older ones")
    if workers:
        told = ", ".join(f"{what} {name}" for what, versions in running.items() for name in sorted(versions) if name)
        yield Finding("ok", "workers", f"{len(workers)} live: {told}")
