"""Chat: what putting, getting and listing cost when a thread is long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.langgraph_saver.contest import (
    ASYNC_POSTGRES,
    ASYNC_SQLITE,
    IN_MEMORY,
    OURS,
    Contest,
    Savers,
    Times,
)
from benchmarks.langgraph_saver.thread import CONFIG, Step, Thread, Writing
from benchmarks.report import Result

# How many of a thread's last steps make a round.
_STEPS = 10


def run(contest: Contest) -> list[Result]:
    """One thread, put into all savers step by step."""
    return asyncio.run(_run(contest))


async def _run(contest: Contest) -> list[Result]:
    effort = contest.effort
    window = effort.rounds * min(_STEPS, effort.calls)
    thread = Thread(1)
    async with contest.savers() as savers:
        writings = {name: Writing(saver) for name, saver in savers.items()}
        for _ in range(effort.steps - 2 * window):
            step = thread.step()
            for writing in writings.values():
                await writing.together(step)
        together = await _puts(contest, thread, {name: each.together for name, each in writings.items()})
        apart = await _puts(contest, thread, {name: each.one_by_one for name, each in writings.items()})
        got = await _reads(contest, savers, _get)
        listed = await _reads(contest, savers, _list)
    at = f"at {effort.steps:,}"
    return [
        *_compared(f"put with put_writes {at}", together, {ASYNC_SQLITE: 0.5, IN_MEMORY: 1.1}),
        *_compared(f"put_writes, then put {at}", apart, {ASYNC_SQLITE: 0.5, IN_MEMORY: None}),
        *_compared(f"get_tuple {at}", got, {IN_MEMORY: 1.15}),
        *_compared(f"list(limit=10) {at}", listed, {ASYNC_SQLITE: 0.2}),
    ]


async def _puts(contest: Contest, thread: Thread, puts: dict[str, Callable[[Step], Awaitable[None]]]) -> Times:
    times = Times()
    for _ in range(contest.effort.rounds):
        times.begin_round()
        for _ in range(min(_STEPS, contest.effort.calls)):
            step = thread.step()
            for name in times.turn(puts):
                began = time.perf_counter()
                await puts[name](step)
                times.note(name, time.perf_counter() - began)
    return times


async def _reads(contest: Contest, savers: Savers, read: Callable[[Any], Awaitable[int]]) -> Times:
    times = Times()
    counts: set[int] = set()
    for _ in range(contest.effort.rounds):
        times.begin_round()
        for _ in range(min(3, contest.effort.calls)):
            for name in times.turn(savers):
                began = time.perf_counter()
                counts.add(await read(savers[name]))
                times.note(name, time.perf_counter() - began)
    assert len(counts) == 1, "savers read different states"
    return times


async def _get(saver: Any) -> int:
    found = await saver.aget_tuple(CONFIG)
    return len(found.checkpoint["channel_values"]["messages"])


async def _list(saver: Any) -> int:
    found = [len(each.checkpoint["channel_values"]["messages"]) async for each in saver.alist(CONFIG, limit=10)]
    return sum(found)


def _compared(what: str, times: Times, bars: dict[str, float | None]) -> list[Result]:
    others = [ASYNC_POSTGRES] if ASYNC_POSTGRES in times.rounds[0] else []
    rows = [
        Result.compared(f"{what}, {ours} / {floor}", times.compare(ours, floor), bar=bar)
        for floor, bar in bars.items()
        for ours in OURS
    ]
    theirs = [ASYNC_SQLITE, *others] if IN_MEMORY in bars else others
    floor = IN_MEMORY if IN_MEMORY in bars else ASYNC_SQLITE
    return rows + [Result.compared(f"{what}, {name} / {floor}", times.compare(name, floor)) for name in theirs]
