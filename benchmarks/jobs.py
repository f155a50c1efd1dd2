"""Jobs that do nothing, 1 KB each: what a worker process gets done, and what each costs.

Beside a bare loop, and beside other queues if they are installed. Workers are stopped (SIGSTOP) while jobs pile up,
then go on; a figure is the time by which one more job is done.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import redis.asyncio
from anyio import create_task_group, fail_after, run, sleep

import batonpass as bp
from benchmarks.agents import Topic
from benchmarks.cpu import cpu_of
from benchmarks.noop import SLOTS, Marks, app, shared_by
from benchmarks.peer import Peer, peer, worker_of
from benchmarks.places import Places
from benchmarks.queues import Queue, installed
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort

_TEXT = "x" * 1000
_PATIENCE = 120.0
_TIME_BAR, _CPU_BAR = 1.67, 2.0  # 0.6 of the floor's throughput, twice its processor time
_PAIR_BAR = 0.625  # two processes do 1.6 times what one does
_SQLITE_BAR = 0.001  # seconds
_AT_ONCE = 32  # submits

Add = Callable[[int], Awaitable[object]]


@dataclass(frozen=True)
class _Side:
    """Processes that get jobs done: how one is added, and how many are not quite done when all handlers ran."""

    workers: Sequence[Peer]
    add: Add
    pending: Callable[[], Awaitable[int]]


@dataclass(frozen=True)
class _Drain:
    """Seconds for each job, by the clock and of processors."""

    time: float
    cpu: float


async def _drain(side: _Side, marks: Marks, jobs: int, server: Sequence[int]) -> _Drain:
    marks.clear()
    await _added(side.add, jobs)
    pids = [*server, *(worker.pid for worker in side.workers)]
    before, start = cpu_of(pids), perf_counter()
    for worker in side.workers:
        worker.signal(signal.SIGCONT)
    with fail_after(_PATIENCE):
        while True:  # often enough, and at little cost for those who are measured
            await sleep(0.002)
            if not marks.missing() and not await side.pending():
                break
    end = perf_counter()
    await sleep(0.1)
    cpu = cpu_of(pids) - before
    for worker in side.workers:
        worker.signal(signal.SIGSTOP)
    if set(runs := marks.runs()) != {1}:
        raise RuntimeError(f"{sum(count > 1 for count in runs)} handlers ran twice")
    return _Drain((end - start) / jobs, cpu / jobs)


async def _added(add: Add, jobs: int) -> None:
    async def some(first: int) -> None:
        for number in range(first, jobs, _AT_ONCE):
            await add(number)

    async with create_task_group() as tasks:
        for first in range(min(_AT_ONCE, jobs)):
            tasks.start_soon(some, first)


def _submitting(coordinator: bp.Coordinator) -> Add:
    return lambda number: coordinator.submit("noop", Topic(number=number, text=_TEXT))


@asynccontextmanager
async def _stopped(count: int, arguments: Callable[[int], Sequence[str]], marks: str) -> AsyncIterator[list[Peer]]:
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(peer(*arguments(n), environment=shared_by(marks))) for n in range(count)
        ]
        await sleep(0.3)
        for worker in workers:
            worker.signal(signal.SIGSTOP)
        yield workers


def _marks(places: Places, jobs: int) -> str:
    path = places.folder / "marks"
    path.write_bytes(bytes(jobs))
    return str(path)


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """One worker process and two, beside one and two bare loops."""
    return run(_on_redis, places, effort)


async def _on_redis(places: Places, effort: Effort) -> list[Result]:
    jobs = effort.jobs * 50
    path = _marks(places, jobs)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(redis.asyncio.Redis.from_url(places.redis_url))
        server = [(await client.info("server"))["process_id"]]
        ours = [await stack.enter_async_context(_ours(places, count, client, path)) for count in (1, 2)]
        bare = [await stack.enter_async_context(_bare(places, count, client, path)) for count in (1, 2)]
        others = [await stack.enter_async_context(_other(places, queue, client, path)) for queue in installed()]
        measure = partial(_drain, marks=Marks(path), jobs=jobs, server=server)
        rounds = [[await measure(side) for side in (*ours, *bare, *others)] for _ in range(effort.rounds + 1)][1:]
    return list(_results(rounds))


@asynccontextmanager
async def _ours(places: Places, count: int, client: Any, marks: str) -> AsyncIterator[_Side]:
    namespace = places.namespace()
    arguments = worker_of(places.redis_url, namespace, "noop", app="benchmarks.noop:app", slots=SLOTS)
    async with (
        bp.connect(places.redis_url, namespace=namespace, app=app) as coordinator,
        _stopped(count, lambda _: arguments, marks) as workers,
    ):
        store: Any = coordinator.store
        yield _Side(workers, _submitting(coordinator), partial(client.zcard, f"{store.prefix}leases"))


@asynccontextmanager
async def _bare(places: Places, count: int, client: Any, marks: str) -> AsyncIterator[_Side]:
    stream = f"{places.namespace()}:stream"
    await client.xgroup_create(stream, "readers", id="0", mkstream=True)

    async def add(number: int) -> None:
        await client.xadd(stream, {"data": Topic(number=number, text=_TEXT).model_dump_json()})

    async def pending() -> int:
        return int((await client.xpending(stream, "readers"))["pending"])

    def arguments(number: int) -> Sequence[str]:
        return ("-m", "benchmarks.noop", places.redis_url, stream, str(number))

    async with _stopped(count, arguments, marks) as readers:
        yield _Side(readers, add, pending)


@asynccontextmanager
async def _other(places: Places, queue: Queue, client: Any, marks: str) -> AsyncIterator[_Side]:
    name = places.namespace()
    arguments = ("-m", "benchmarks.queue_worker", queue.name, places.redis_url, name)
    async with queue.sending(places.redis_url, name) as send, _stopped(1, lambda _: arguments, marks) as workers:
        yield _Side(workers, lambda number: send(number, _TEXT), partial(queue.pending, client, name))


def _results(rounds: list[list[_Drain]]) -> list[Result]:
    one, two, bare_one, bare_two, *others = zip(*rounds, strict=True)
    return [
        Result.compared("no-op job, one process, Redis / XREADGROUP + XACK", _times(one, bare_one), bar=_TIME_BAR),
        Result.compared("the same, CPU of worker and server", _cpu(one, bare_one), bar=_CPU_BAR),
        Result.compared("two worker processes / one", _times(two, one), bar=_PAIR_BAR),
        Result.compared("two bare loops / one", _times(bare_two, bare_one)),
        *(row for queue, other in zip(installed(), others, strict=True) for row in _beside(queue.name, one, other)),
    ]


def _beside(name: str, ours: Sequence[_Drain], other: Sequence[_Drain]) -> list[Result]:
    what = f"no-op job, one process, Redis / {name} without results"
    return [
        Result.compared(what, _times(ours, other)),
        Result.compared("the same, CPU of worker and server", _cpu(ours, other)),
    ]


def _times(ours: Sequence[_Drain], floor: Sequence[_Drain]) -> Comparison:
    comparison = Comparison()
    for mine, other in zip(ours, floor, strict=True):
        comparison.add_round([mine.time], [other.time])
    return comparison


def _cpu(ours: Sequence[_Drain], floor: Sequence[_Drain]) -> Comparison:
    comparison = Comparison()
    for mine, other in zip(ours, floor, strict=True):
        comparison.add_round([mine.cpu], [other.cpu])
    return comparison


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Without a floor."""
    return [Result.alone("no-op job, one process, SQLite", run(_on_sqlite, places, effort), bar=_SQLITE_BAR)]


async def _on_sqlite(places: Places, effort: Effort) -> list[float]:
    jobs = effort.jobs * 10
    path = _marks(places, jobs)
    url = f"sqlite:///{places.sqlite_file('jobs')}"
    arguments = worker_of(url, "default", "noop", app="benchmarks.noop:app", slots=SLOTS)

    async with bp.connect(url, app=app) as coordinator, _stopped(1, lambda _: arguments, path) as workers:

        async def pending() -> int:
            return len(await coordinator.jobs(state="working", limit=1))

        side = _Side(workers, _submitting(coordinator), pending)
        rounds = [await _drain(side, Marks(path), jobs, []) for _ in range(effort.rounds + 1)]
    return [round_.time for round_ in rounds[1:]]
