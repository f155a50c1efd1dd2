"""Supersteps: the time of a graph of 20 supersteps, by durability."""

from __future__ import annotations

import asyncio
import time

from benchmarks.langgraph_saver.chain import chain, new_thread, start
from benchmarks.langgraph_saver.contest import FLOORS, IN_MEMORY, OURS, Contest, Times
from benchmarks.report import Result

_DURABILITIES = ("async", "sync", "exit")
_RUNS = 8


def run_async(contest: Contest) -> list[Result]:
    """With `ainvoke`."""
    return asyncio.run(_run_async(contest))


async def _run_async(contest: Contest) -> list[Result]:
    found: list[Result] = []
    async with contest.savers() as savers, contest.bare() as bare:
        graphs = {name: chain(saver) for name, saver in {**savers, **bare}.items()}
        for durability in _DURABILITIES:
            times = Times()
            for _ in range(contest.effort.rounds + 1):
                times.begin_round()
                for _ in range(min(_RUNS, contest.effort.calls)):
                    for name in times.turn(graphs):
                        began = time.perf_counter()
                        await graphs[name].ainvoke(start(), new_thread(), durability=durability)
                        times.note(name, time.perf_counter() - began)
            found += _results("ainvoke", durability, times)
    return found


def run_sync(contest: Contest) -> list[Result]:
    """With `invoke`."""
    found: list[Result] = []
    with contest.sync_savers() as savers, contest.sync_bare() as bare:
        graphs = {name: chain(saver) for name, saver in {**savers, **bare}.items()}
        for durability in _DURABILITIES:
            times = Times()
            for _ in range(contest.effort.rounds + 1):
                times.begin_round()
                for _ in range(min(_RUNS, contest.effort.calls)):
                    for name in times.turn(graphs):
                        began = time.perf_counter()
                        graphs[name].invoke(start(), new_thread(), durability=durability)
                        times.note(name, time.perf_counter() - began)
            found += _results("invoke", durability, times)
    return found


def _results(call: str, durability: str, times: Times) -> list[Result]:
    del times.rounds[0]  # it warmed up
    what = f"{call} of 20 supersteps, durability {durability}"
    found = [
        Result.compared(
            f"{what}, {name} / {IN_MEMORY}",
            times.compare(name, IN_MEMORY),
            bar=1.5 if name in OURS and durability != "exit" else None,
        )
        for name in sorted(times.rounds[0])
        if name != IN_MEMORY
    ]
    return found + [
        Result.compared(f"{what}, {ours} / {floor}", times.compare(ours, floor)) for ours, floor in FLOORS.items()
    ]
