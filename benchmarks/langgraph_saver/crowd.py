"""Crowd: 50 threads at once, each in a graph of 20 supersteps."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.langgraph_saver.chain import SUPERSTEPS, chain, new_thread, start
from benchmarks.langgraph_saver.contest import FLOORS, IN_MEMORY, OURS, Contest, Times
from benchmarks.report import Result

_THREADS = 50
# The bar is 0.7 of InMemorySaver's supersteps a second.
_BAR = round(1 / 0.7, 2)


def run_async(contest: Contest) -> list[Result]:
    """As tasks of one event loop."""
    return asyncio.run(_run_async(contest))


async def _run_async(contest: Contest) -> list[Result]:
    times = Times()
    async with contest.savers() as savers, contest.bare() as bare:
        graphs = {name: chain(saver) for name, saver in {**savers, **bare}.items()}
        for _ in range(contest.effort.rounds + 1):
            times.begin_round()
            for name in times.turn(graphs):
                began = time.perf_counter()
                await asyncio.gather(*(graphs[name].ainvoke(start(), new_thread()) for _ in range(_count(contest))))
                times.note(name, time.perf_counter() - began)
    return _results("tasks", contest, times)


def run_sync(contest: Contest) -> list[Result]:
    """As threads of one process."""
    times = Times()
    count = _count(contest)
    with contest.sync_savers() as savers, contest.sync_bare() as bare, ThreadPoolExecutor(count) as pool:
        graphs = {name: chain(saver) for name, saver in {**savers, **bare}.items()}
        for _ in range(contest.effort.rounds + 1):
            times.begin_round()
            for name in times.turn(graphs):
                began = time.perf_counter()
                list(pool.map(lambda graph: graph.invoke(start(), new_thread()), [graphs[name]] * count))
                times.note(name, time.perf_counter() - began)
    return _results("threads", contest, times)


def _count(contest: Contest) -> int:
    return min(_THREADS, 2 * contest.effort.calls)


def _results(kind: str, contest: Contest, times: Times) -> list[Result]:
    del times.rounds[0]  # it warmed up
    found: list[Result] = []
    for name in sorted(times.rounds[0]):
        comparison: Any = times.compare(name, IN_MEMORY)
        speed = _count(contest) * SUPERSTEPS / sorted(comparison.ours)[len(comparison.ours) // 2]
        what = f"{_count(contest)} {kind} at once, {name} ({speed:,.0f} supersteps/s) / {IN_MEMORY}"
        if name != IN_MEMORY:
            found.append(Result.compared(what, comparison, bar=_BAR if name in OURS else None))
    return found + [
        Result.compared(f"{_count(contest)} {kind} at once, {ours} / {floor}", times.compare(ours, floor))
        for ours, floor in FLOORS.items()
    ]
