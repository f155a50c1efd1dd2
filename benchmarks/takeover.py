"""From SIGKILL of a whole worker process to the start of its job in another one, with default settings."""

from __future__ import annotations

import random
import time

from anyio import run, sleep

import batonpass as bp
from benchmarks.agents import Topic, app
from benchmarks.peer import peer, worker_of
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Effort

_BAR = 6.0  # seconds


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """The slowest of all tries has to meet the bar."""
    seconds = run(_tries, places.redis_url, places.namespace(), effort)
    return [Result.alone("takeover after SIGKILL, Redis", seconds, bar=_BAR)]


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """The same on SQLite."""
    url = f"sqlite:///{places.sqlite_file('takeover')}"
    return [Result.alone("takeover after SIGKILL, SQLite", run(_tries, url, "default", effort), bar=_BAR)]


async def _tries(url: str, namespace: str, effort: Effort) -> list[float]:
    async with bp.connect(url, namespace=namespace, app=app) as coordinator:
        return [await _try(coordinator, url, namespace, effort) for _ in range(effort.kills)]


async def _try(coordinator: bp.Coordinator, url: str, namespace: str, effort: Effort) -> float:
    arguments = worker_of(url, namespace, "hold", lease=effort.lease)
    async with peer(*arguments) as holder:
        job = await coordinator.submit("hold", Topic(number=0))
        await holder.line()
        async with peer(*arguments) as other:
            await sleep(random.uniform(0.2, 1.2))  # anywhere between two heartbeats
            killed = time.time_ns()
            await holder.kill()
            took = (int(await other.line()) - killed) / 1e9
            await job.cancel()
    return took
