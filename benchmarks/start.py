"""From submit to the start of the handler, in an idle worker of another process."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import redis.asyncio
from anyio import run, sleep

import batonpass as bp
from benchmarks.agents import Topic, app
from benchmarks.peer import Peer, peer, worker_of
from benchmarks.places import Places
from benchmarks.queues import Queue, installed
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort, percentile

_BAR, _LATE_BAR = 1.4, 3.0  # of the median, and of the 99th percentile
_PEER_BAR = 1.0  # not behind them
_SQLITE_BAR = 0.015  # seconds, of the median
_SHORT, _LONG = (0.02, 0.06), (2.0, 2.6)  # seconds between jobs
_TEXT = "x" * 200


async def _latency(
    peer: Peer, send: Callable[[int], Awaitable[object]], number: int, gap: tuple[float, float] = _SHORT
) -> float:
    """Seconds from before `send` to the handler's first line, by the clock that both processes share."""
    await sleep(random.uniform(*gap))
    sent = time.time_ns()
    await send(number)
    return (int(await peer.line()) - sent) / 1e9


@dataclass(frozen=True)
class _Side:
    """A process that waits for jobs, and how it is sent one."""

    process: Peer
    send: Callable[[int], Awaitable[object]]


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside XADD and a loop that blocks in XREADGROUP, and beside other queues if they are installed."""
    busy, idle = run(_compared, places, effort)
    late = percentile(busy[0].ours, 99) / percentile(busy[0].floor, 99)
    return [
        Result.compared("submit -> handler start, Redis / XADD -> XREADGROUP", busy[0], bar=_BAR),
        Result.figure("the same, 99th percentiles", late, bar=_LATE_BAR),
        Result.compared("the same after 2 s without a job", idle[0], bar=_BAR),
        *(
            Result.compared(f"submit -> handler start, Redis / {queue.name}{after}", compared, bar=_PEER_BAR)
            for comparisons, after in ((busy, ""), (idle, ", after 2 s without a job"))
            for queue, compared in zip(installed(), comparisons[1:], strict=True)
        ),
    ]


async def _compared(places: Places, effort: Effort) -> tuple[list[Comparison], list[Comparison]]:
    """Ours beside each of the others, with short and with long gaps."""
    async with AsyncExitStack() as stack:
        sides = [await stack.enter_async_context(side) for side in (_ours(places), _bare(places), *_others(places))]
        busy, idle = ([Comparison() for _ in sides[1:]] for _ in range(2))
        await _turns(sides, effort.jobs, _SHORT)
        for _ in range(effort.rounds):
            _add(busy, await _turns(sides, effort.jobs, _SHORT))
        _add(idle, await _turns(sides, max(effort.jobs // 3, 1), _LONG))
    return busy, idle


def _add(comparisons: Sequence[Comparison], times: Sequence[list[float]]) -> None:
    for comparison, other in zip(comparisons, times[1:], strict=True):
        comparison.add_round(times[0], other)


async def _turns(sides: Sequence[_Side], number_of: int, gap: tuple[float, float]) -> list[list[float]]:
    """Seconds that each side took, job by job."""
    times: list[list[float]] = [[] for _ in sides]
    turns = list(zip(sides, times, strict=True))
    for number in range(number_of):
        random.shuffle(turns)  # who comes after whom makes a difference
        for side, taken in turns:
            taken.append(await _latency(side.process, side.send, number, gap))
    return times


@asynccontextmanager
async def _ours(places: Places) -> AsyncIterator[_Side]:
    namespace = places.namespace()
    async with (
        bp.connect(places.redis_url, namespace=namespace, app=app) as coordinator,
        peer(*worker_of(places.redis_url, namespace, "start")) as worker,
    ):
        yield _Side(worker, lambda number: coordinator.submit("start", Topic(number=number, text=_TEXT)))


@asynccontextmanager
async def _bare(places: Places) -> AsyncIterator[_Side]:
    stream = f"{places.mark}:stream"
    async with (
        redis.asyncio.Redis.from_url(places.redis_url) as client,
        peer("-m", "benchmarks.reader", places.redis_url, stream) as reader,
    ):
        sending: Any = client

        async def add(number: int) -> None:
            await sending.xadd(stream, {"data": Topic(number=number, text=_TEXT).model_dump_json()})

        yield _Side(reader, add)


def _others(places: Places) -> list[AbstractAsyncContextManager[_Side]]:
    return [_other(places, queue) for queue in installed()]


@asynccontextmanager
async def _other(places: Places, queue: Queue) -> AsyncIterator[_Side]:
    name = places.namespace()
    async with (
        queue.sending(places.redis_url, name) as send,
        peer("-m", "benchmarks.queue_worker", queue.name, places.redis_url, name) as worker,
    ):
        yield _Side(worker, lambda number: send(number, _TEXT))


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Without a floor: SQLite has no way to wait for another process."""
    seconds = run(_on_sqlite, places, effort)
    what = "submit -> handler start, SQLite, another process"
    return [Result.alone(what, seconds, bar=_SQLITE_BAR, percent=50)]


async def _on_sqlite(places: Places, effort: Effort) -> list[float]:
    url = f"sqlite:///{places.sqlite_file('start')}"
    async with bp.connect(url, app=app) as coordinator, peer(*worker_of(url, "default", "start")) as worker:

        async def submit(number: int) -> None:
            await coordinator.submit("start", Topic(number=number, text=_TEXT))

        return [await _latency(worker, submit, number) for number in range(effort.rounds * effort.jobs)]
