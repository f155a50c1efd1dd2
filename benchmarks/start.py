"""From submit to the start of the handler, in an idle worker of another process."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import redis.asyncio
from anyio import run, sleep

import batonpass as bp
from benchmarks.agents import Topic, app
from benchmarks.peer import Peer, peer, worker_of
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort, percentile

_BAR, _LATE_BAR = 1.4, 3.0  # of the median, and of the 99th percentile
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


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside XADD and a loop that blocks in XREADGROUP."""
    busy, idle = run(_compared, places, effort)
    late = percentile(busy.ours, 99) / percentile(busy.floor, 99)
    return [
        Result.compared("submit -> handler start, Redis / XADD -> XREADGROUP", busy, bar=_BAR),
        Result.figure("the same, 99th percentiles", late, bar=_LATE_BAR),
        Result.compared("the same after 2 s without a job", idle, bar=_BAR),
    ]


async def _compared(places: Places, effort: Effort) -> tuple[Comparison, Comparison]:
    namespace, stream = places.namespace(), f"{places.mark}:stream"
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(redis.asyncio.Redis.from_url(places.redis_url))
        coordinator = await stack.enter_async_context(bp.connect(places.redis_url, namespace=namespace, app=app))
        worker = await stack.enter_async_context(peer(*worker_of(places.redis_url, namespace, "start")))
        reader = await stack.enter_async_context(peer("-m", "benchmarks.reader", places.redis_url, stream))

        async def submit(number: int) -> None:
            await coordinator.submit("start", Topic(number=number, text=_TEXT))

        async def add(number: int) -> None:
            await client.xadd(stream, {"data": Topic(number=number, text=_TEXT).model_dump_json()})

        async def turns(number_of: int, gap: tuple[float, float]) -> tuple[list[float], list[float]]:
            ours: list[float] = []
            floor: list[float] = []
            sides = [(worker, submit, ours), (reader, add, floor)]
            for number in range(number_of):
                random.shuffle(sides)  # who comes after whom makes a difference
                for process, send, times in sides:
                    times.append(await _latency(process, send, number, gap))
            return ours, floor

        busy, idle = Comparison(), Comparison()
        await turns(effort.jobs, _SHORT)
        for _ in range(effort.rounds):
            busy.add_round(*await turns(effort.jobs, _SHORT))
        idle.add_round(*await turns(max(effort.jobs // 3, 1), _LONG))
    return busy, idle


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
