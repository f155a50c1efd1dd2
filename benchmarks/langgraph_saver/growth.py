"""Growth: what a thread that grows keeps, and sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from statistics import median

from batonpass.adapters.langgraph import BatonpassSaver
from benchmarks.langgraph_saver.contest import Contest
from benchmarks.langgraph_saver.kept import Wire, in_file, in_redis
from benchmarks.langgraph_saver.thread import Thread, Writing, grow
from benchmarks.report import Result


def on_sqlite(contest: Contest) -> list[Result]:
    """The file of a thread, and of one that is four times as long."""

    async def kept(steps: int) -> tuple[int, int]:
        url, path = contest.sqlite_url()
        added = await _grown(url, None, steps)
        return in_file(path), added

    return asyncio.run(_run(contest, "SQLite", kept, bar=1.5))


def on_redis(contest: Contest) -> list[Result]:
    """The keys of a thread, and of one that is four times as long; and what each put sends."""
    url = contest.places.redis_url

    async def kept(steps: int) -> tuple[int, int]:
        namespace = contest.places.namespace()
        added = await _grown(url, namespace, steps)
        return in_redis(url, namespace), added

    return [*asyncio.run(_run(contest, "Redis", kept, bar=2.0)), asyncio.run(_sent(contest))]


async def _grown(url: str, namespace: str | None, steps: int) -> int:
    async with BatonpassSaver.from_url(url, namespace=namespace) as saver:
        return sum([added async for added in grow(saver, steps)])


Kept = Callable[[int], Awaitable[tuple[int, int]]]


async def _run(contest: Contest, where: str, kept: Kept, *, bar: float) -> list[Result]:
    steps = contest.effort.steps
    held, added = await kept(steps)
    long, _ = await kept(4 * steps)
    per_step = (long / (4 * steps)) / (held / steps)
    return [
        Result.figure(f"kept of {steps:,} steps, {where} / L", held / added, bar=bar),
        Result.figure(f"kept a step at {4 * steps:,} steps, {where} / at {steps:,}", per_step, bar=1.1),
    ]


async def _sent(contest: Contest) -> Result:
    """Two messages a put: the bytes of the last puts by those of some early ones."""
    url, steps = contest.places.redis_url, contest.effort.steps
    sent: list[int] = []
    with closing(Wire(url)) as wire:
        async with BatonpassSaver.from_url(url, namespace=contest.places.namespace()) as saver:
            thread, writing = Thread(2), Writing(saver)
            for _ in range(steps):
                sent.append(await wire.sent(writing.together(thread.step())))
    count = min(50, steps // 4)
    early, late = sent[steps // 4 : steps // 4 + count], sent[-count:]
    return Result.figure(
        f"sent with a put at {steps:,}, Redis / at {steps // 4:,}", median(late) / median(early), bar=1.1
    )
