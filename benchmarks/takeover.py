"""From SIGKILL of a whole worker process, or of a child of one, to the start of its job in another one."""

from __future__ import annotations

import os
import random
import signal
import time

from anyio import run, sleep

import batonpass as bp
from benchmarks.agents import Topic, app
from benchmarks.peer import Peer, peer, worker_of
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Effort

# Seconds: with the default lease, with the tightest one that a busy machine keeps, and of a child.
_BAR, _TIGHT_BAR, _CHILD_BAR = 6.0, 1.5, 0.5
_TIGHT = 1.0


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """The slowest of all tries has to meet the bar."""
    return _all("Redis", places.redis_url, places.namespace(), effort)


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """The same on SQLite."""
    return _all("SQLite", f"sqlite:///{places.sqlite_file('takeover')}", "default", effort)


def _all(store: str, url: str, namespace: str, effort: Effort) -> list[Result]:
    default = run(_tries, url, namespace, effort.kills, effort.lease)
    tight = run(_tries, url, namespace, effort.kills, min(effort.lease or _TIGHT, _TIGHT))
    children = run(_children, url, namespace, effort.kills)
    return [
        Result.alone(f"takeover after SIGKILL, {store}", default, bar=_BAR),
        Result.alone(f"the same with a lease of {_TIGHT:g} s", tight, bar=_TIGHT_BAR),
        Result.alone("the same of a child alone", children, bar=_CHILD_BAR),
    ]


async def _tries(url: str, namespace: str, kills: int, lease: float | None) -> list[float]:
    async with bp.connect(url, namespace=namespace, app=app) as coordinator:
        return [await _try(coordinator, url, namespace, lease) for _ in range(kills)]


async def _children(url: str, namespace: str, kills: int) -> list[float]:
    """The child is killed; its worker has another one at hand."""
    took: list[float] = []
    async with (
        bp.connect(url, namespace=namespace, app=app) as coordinator,
        peer(*worker_of(url, namespace, "apart", slots=2)) as holder,
    ):
        for _ in range(kills):
            job = await coordinator.submit("apart", Topic(number=0))
            _, child = await _started(holder)
            await sleep(random.uniform(0.2, 1.2))
            killed = time.time_ns()
            os.kill(child, signal.SIGKILL)
            took.append(((await _started(holder))[0] - killed) / 1e9)
            await job.cancel()
    return took


async def _started(holder: Peer) -> tuple[int, int]:
    """When a child started the job, and its number: children also say when they are ready."""
    while (line := await holder.line()) == "ready":
        pass
    moment, pid = line.split()
    return int(moment), int(pid)


async def _try(coordinator: bp.Coordinator, url: str, namespace: str, lease: float | None) -> float:
    arguments = worker_of(url, namespace, "hold", lease=lease)
    async with peer(*arguments) as holder:
        job = await coordinator.submit("hold", Topic(number=0))
        await holder.line()
        async with peer(*arguments) as other:
            await sleep(random.uniform(2.2, 3.2))  # anywhere between two heartbeats, and no worker that just started
            killed = time.time_ns()
            await holder.kill()
            took = (int(await other.line()) - killed) / 1e9
            await job.cancel()
    return took
