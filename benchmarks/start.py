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
from benchmarks.timing import Comparison, Effort

_BAR = 2.2
_TEXT = "x" * 200


async def _latency(peer: Peer, send: Callable[[int], Awaitable[object]], number: int) -> float:
    """Seconds from before `send` to the handler's first line, by the clock that both processes share."""
    await sleep(random.uniform(0.02, 0.06))
    sent = time.time_ns()
    await send(number)
    return (int(await peer.line()) - sent) / 1e9


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside XADD and a loop that blocks in XREADGROUP."""
    comparison = run(_compared, places, effort)
    return [Result.compared("submit -> handler start, Redis / XADD -> XREADGROUP", comparison, bar=_BAR)]


async def _compared(places: Places, effort: Effort) -> Comparison:
    namespace, stream = places.namespace(), f"{places.mark}:stream"
    comparison = Comparison()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(redis.asyncio.Redis.from_url(places.redis_url))
        coordinator = await stack.enter_async_context(bp.connect(places.redis_url, namespace=namespace, app=app))
        worker = await stack.enter_async_context(peer(*worker_of(places.redis_url, namespace, "start")))
        reader = await stack.enter_async_context(peer("-m", "benchmarks.reader", places.redis_url, stream))

        async def submit(number: int) -> None:
            await coordinator.submit("start", Topic(number=number, text=_TEXT))

        async def add(number: int) -> None:
            await client.xadd(stream, {"data": Topic(number=number, text=_TEXT).model_dump_json()})

        for round_ in range(effort.rounds + 1):
            ours: list[float] = []
            floor: list[float] = []
            turns = [(worker, submit, ours), (reader, add, floor)]
            for number in range(effort.jobs):
                random.shuffle(turns)  # who comes after whom makes a difference
                for process, send, times in turns:
                    times.append(await _latency(process, send, number))
            if round_:
                comparison.add_round(ours, floor)
    return comparison


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Without a floor: SQLite has no way to wait for another process."""
    return [Result.alone("submit -> handler start, SQLite, another process", run(_on_sqlite, places, effort))]


async def _on_sqlite(places: Places, effort: Effort) -> list[float]:
    url = f"sqlite:///{places.sqlite_file('start')}"
    async with bp.connect(url, app=app) as coordinator, peer(*worker_of(url, "default", "start")) as worker:

        async def submit(number: int) -> None:
            await coordinator.submit("start", Topic(number=number, text=_TEXT))

        return [await _latency(worker, submit, number) for number in range(effort.rounds * effort.jobs)]
