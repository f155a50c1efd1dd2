"""Many that save at once: what a store carries, beside bare writers that are as many.

A figure is the time by which one more save is done, whoever did it: half the time is twice the throughput.
"""

from __future__ import annotations

import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import redis

import batonpass as bp
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.save import Bare, bytes_of, state_of
from benchmarks.timing import Comparison, Effort

_BAR = 1.67  # 0.6 of the bare writers' throughput
_PATIENCE = 60.0  # seconds after which one of the writers must have failed
Save = Callable[[int], object]


@dataclass(frozen=True)
class _Redis:
    """Where to save, as other processes are told it."""

    url: str
    namespace: str
    mark: str

    @contextmanager
    def sides(self, writer: int) -> Iterator[tuple[Save, Save]]:
        """Ours and the floor, each with connections of this writer's own."""
        opened = bp.connect(self.url, namespace=self.namespace)
        with opened as coordinator, redis.Redis.from_url(self.url) as client:
            yield partial(_save, coordinator, writer), lambda n: client.set(f"{self.mark}:{writer}:{n}", bytes_of(n))


@dataclass(frozen=True)
class _Sqlite:
    ours: Path
    bare: Path

    @contextmanager
    def sides(self, writer: int) -> Iterator[tuple[Save, Save]]:
        bare = Bare(self.bare)
        try:
            with bp.connect(f"sqlite:///{self.ours}") as coordinator:
                yield partial(_save, coordinator, writer), bare.save
        finally:
            bare.close()


@dataclass(frozen=True)
class _Shared:
    """One store object for all threads, as a process has it; the floor has a connection for each."""

    coordinator: bp.SyncCoordinator
    bare: Path

    @contextmanager
    def sides(self, writer: int) -> Iterator[tuple[Save, Save]]:
        bare = Bare(self.bare)
        try:
            yield partial(_save, self.coordinator, writer), bare.save
        finally:
            bare.close()


def _save(coordinator: bp.SyncCoordinator, writer: int, number: int) -> None:
    coordinator.save(thread=f"run-{writer}", agent="start", state=state_of(number), step="step")


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Processes, beside as many that SET the same bytes."""
    where = _Redis(places.redis_url, places.namespace(), places.mark)
    return [Result.compared(_name("processes", effort, "Redis / SET"), _processes(effort, where), bar=_BAR)]


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Processes, and threads of one process, beside as many bare transactions of two inserts."""
    where = _Sqlite(places.sqlite_file("ours"), places.sqlite_file("bare"))
    Bare(where.bare).close()  # it makes the tables
    processes = _processes(effort, where)
    bare = places.sqlite_file("bare")
    Bare(bare).close()
    with bp.connect(f"sqlite:///{places.sqlite_file('ours')}") as coordinator:
        threads = _threads(effort, _Shared(coordinator, bare))
    return [
        Result.compared(_name("processes", effort, "SQLite / two inserts"), processes, bar=_BAR),
        Result.compared(_name("threads", effort, "SQLite / two inserts"), threads, bar=_BAR),
    ]


def _name(writers: str, effort: Effort, floor: str) -> str:
    return f"{effort.writers} {writers} saving, time per save, {floor}"


def _processes(effort: Effort, where: Any) -> Comparison:
    context = multiprocessing.get_context("spawn")
    gate, counts = context.Barrier(effort.writers), context.Queue()
    return _together(effort, where, gate, counts, partial(context.Process, daemon=True))


def _threads(effort: Effort, where: Any) -> Comparison:
    return _together(effort, where, threading.Barrier(effort.writers), queue.Queue(), threading.Thread)


def _together(effort: Effort, where: Any, gate: Any, counts: Any, make: Callable[..., Any]) -> Comparison:
    """Both sides in turns, as many writers at once as asked; the first round does not count."""
    writers = [make(target=_write, args=(effort, where, n, gate, counts)) for n in range(effort.writers)]
    for writer in writers:
        writer.start()
    comparison = Comparison()
    for round_ in range(effort.rounds + 1):
        ours, floor = (sum(counts.get(timeout=_PATIENCE) for _ in writers) for _ in range(2))
        if round_:
            comparison.add_round([_duration(effort) / ours], [_duration(effort) / floor])
    for writer in writers:
        writer.join()
    return comparison


def _write(effort: Effort, where: Any, writer: int, gate: Any, counts: Any) -> None:
    """One writer: how many saves it did while each side had its turn."""
    with ExitStack() as stack:
        sides = stack.enter_context(where.sides(writer))
        number = 0
        for _ in range(effort.rounds + 1):
            for save in sides:
                gate.wait(_PATIENCE)
                first, end = number, time.perf_counter() + _duration(effort)
                while time.perf_counter() < end or number == first:
                    save(number)
                    number += 1
                counts.put(number - first)
                gate.wait(_PATIENCE)  # so that the slowest is done before the other side begins


def _duration(effort: Effort) -> float:
    """Seconds that each side has in a round."""
    return effort.calls / 300
