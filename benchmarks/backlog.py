"""A store with much in it: what a claim takes there, and what an idle worker costs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import redis
from anyio import run, sleep

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.calls import jobs
from batonpass.coordinator.commands import Claim, Command, Complete, Submit
from batonpass.coordinator.rows import Delivery
from benchmarks.agents import Topic, app
from benchmarks.cpu import cpu_of
from benchmarks.peer import peer, worker_of
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort

_CLAIM_BAR = 1.2
_CPU_BAR, _COMMANDS_BAR = 1.0, 2.0  # percent of a core; a second
_LEASE = 60_000  # ms: nothing comes back while the store is being filled
_QUEUE = queue_of("start", contract_ref(Topic))
_AT_ONCE = 200
# Commands that clients send; what scripts call is counted by the server, too.
_SENT = ("evalsha", "eval", "blpop", "ping", "publish", "mget")


class _Full:
    """A namespace that is filled by the operations that jobs go through, many at once."""

    def __init__(self, coordinator: bp.Coordinator) -> None:
        self._store = coordinator.store
        self._book = coordinator.book

    async def _do(self, commands: Iterable[Command[Any]]) -> list[Any]:
        return await asyncio.gather(*(self._store.acall(command) for command in commands))

    async def wait_for(self, count: int) -> None:
        """Have so many jobs wait."""
        for first in range(0, count, _AT_ONCE):
            await self._do(self._submit(number) for number in range(first, min(first + _AT_ONCE, count)))

    def _submit(self, number: int) -> Submit:
        command = next(jobs.submit(self._book, "start", Topic(number=number), {}))
        assert isinstance(command, Submit)  # nothing has to be asked about a known agent
        return command

    async def finish(self, count: int) -> None:
        """Have so many finished jobs kept."""
        for first in range(0, count, _AT_ONCE):
            number = min(_AT_ONCE, count - first)
            await self.wait_for(number)
            await self._do(_ended(await self._store.acall(_claim(number))))

    def claim(self) -> float:
        """Seconds that the claim of one job takes; as many wait afterwards as before."""
        self._store.call(self._submit(0))
        start = time.perf_counter()
        claimed = self._store.call(_claim(1))
        took = time.perf_counter() - start
        [end] = _ended(claimed)
        self._store.call(end)
        return took


def _claim(count: int) -> Claim:
    return Claim("benchmark", ((_QUEUE, _LEASE),), tuple(mint("l") for _ in range(count)))


def _ended(claimed: Sequence[Delivery]) -> list[Complete]:
    return [Complete(each.job.fence, b"done") for each in claimed]


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """A claim from a full store beside one from an empty store, and a worker with nothing to do."""
    cpu, commands = run(_idle, places, effort)

    def used(_: bp.Coordinator) -> int:
        with redis.Redis.from_url(places.redis_url) as client:
            memory: Any = client.info("memory")
            return int(memory["used_memory"])

    def opened(_: str) -> Any:
        return bp.connect(places.redis_url, namespace=places.namespace(), app=app)

    return [
        *run(_claims, "Redis", effort, opened, used),
        Result.figure("idle worker, percent of a core", cpu, bar=_CPU_BAR),
        Result.figure("idle worker, commands a second", commands, bar=_COMMANDS_BAR),
    ]


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """The same claim from files."""

    def used(coordinator: bp.Coordinator) -> int:
        store: Any = coordinator.store
        return os.path.getsize(store.path)

    def opened(name: str) -> Any:
        return bp.connect(f"sqlite:///{places.sqlite_file(name)}", app=app)

    return run(_claims, "SQLite", effort, opened, used)


async def _claims(
    where: str, effort: Effort, opened: Callable[[str], Any], used: Callable[[bp.Coordinator], int]
) -> list[Result]:
    comparison = Comparison()
    async with opened("full") as one, opened("empty") as other:
        full, empty = _Full(one), _Full(other)
        before = used(one)
        await full.finish(effort.kept)
        kept = (used(one) - before) / effort.kept / 1024
        await full.wait_for(effort.waiting)
        for each in (full, empty):
            each.claim()  # its first connects
        for _ in range(effort.rounds):
            turns = [(full.claim(), empty.claim()) for _ in range(effort.calls)]
            comparison.add_round([mine for mine, _ in turns], [other for _, other in turns])
    waiting = f"{effort.waiting:,} waiting, {effort.kept:,} finished"
    return [
        Result.compared(f"claim, {where}, {waiting} / none", comparison, bar=_CLAIM_BAR),
        Result.figure(f"a finished job and its events kept, {where}, KB", kept),
    ]


async def _idle(places: Places, effort: Effort) -> tuple[float, float]:
    """Percent of a core and commands a second of a worker whose queues are empty."""
    with redis.Redis.from_url(places.redis_url) as client:
        async with peer(*worker_of(places.redis_url, places.namespace(), "start")) as worker:
            await sleep(min(effort.calls / 100, 2.0))
            seconds, cpu, sent = effort.calls / 15, cpu_of([worker.pid]), _sent(client)
            await sleep(seconds)
            return 100 * (cpu_of([worker.pid]) - cpu) / seconds, (_sent(client) - sent) / seconds


def _sent(client: Any) -> int:
    """How many commands clients have sent to the server."""
    known = client.info("commandstats")
    return sum(known.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in _SENT)
