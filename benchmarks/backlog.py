"""A store with much in it: what a claim takes there, and what an idle worker costs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import redis
from anyio import run, sleep

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.calls import drive, jobs
from batonpass.coordinator.commands import Claim, Command, Complete, Fence, Submit
from batonpass.coordinator.redis.wire import answer, arguments, unfolded
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
    """A namespace, and a pipeline to fill it by."""

    def __init__(self, coordinator: bp.SyncCoordinator, client: Any) -> None:
        self._store: Any = coordinator.store
        self._book = coordinator.book
        self._client = client

    def _do(self, commands: Iterable[Command[Any]]) -> list[Any]:
        """The answers to many commands that are sent at once."""
        asked = list(commands)
        with self._client.pipeline(transaction=False) as pipe:
            for command in asked:
                name, argv = arguments(command)
                pipe.execute_command("EVALSHA", self._store._scripts(name).sha, 1, self._store.prefix, *argv)
            return [answer(command, unfolded(reply)) for command, reply in zip(asked, pipe.execute(), strict=True)]

    def wait_for(self, count: int) -> None:
        """Have so many jobs wait."""
        for first in range(0, count, _AT_ONCE):
            self._do(self._submit(number) for number in range(first, min(first + _AT_ONCE, count)))

    def _submit(self, number: int) -> Submit:
        command = next(jobs.submit(self._book, "start", Topic(number=number), {}))
        assert isinstance(command, Submit)  # nothing has to be asked about a known agent
        return command

    def finish(self, count: int) -> None:
        """Have so many finished jobs kept."""
        for first in range(0, count, _AT_ONCE):
            number = min(_AT_ONCE, count - first)
            self.wait_for(number)
            [claimed] = self._do([_claim(number)])
            self._do(_ended(claimed))

    def claim(self) -> float:
        """Seconds that the claim of one job takes; as many wait afterwards as before."""
        drive(self._store, jobs.submit(self._book, "start", Topic(number=0), {}))
        start = time.perf_counter()
        claimed = self._store.call(_claim(1))
        took = time.perf_counter() - start
        [end] = _ended(claimed)
        self._store.call(end)
        return took


def _claim(count: int) -> Claim:
    return Claim("benchmark", ((_QUEUE, _LEASE),), tuple(mint("l") for _ in range(count)))


def _ended(claimed: Sequence[Delivery]) -> list[Complete]:
    return [Complete(Fence(each.job.id, each.job.token, each.job.lease), b"done") for each in claimed]


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """A claim from a full store beside one from an empty store, and a worker with nothing to do."""
    cpu, commands = run(_idle, places, effort)
    waiting = f"{effort.waiting:,} waiting, {effort.kept:,} finished"
    return [
        Result.compared(f"claim, Redis, {waiting} / none", _claims(places, effort), bar=_CLAIM_BAR),
        Result.figure("idle worker, percent of a core", cpu, bar=_CPU_BAR),
        Result.figure("idle worker, commands a second", commands, bar=_COMMANDS_BAR),
    ]


def _claims(places: Places, effort: Effort) -> Comparison:
    comparison = Comparison()
    url = places.redis_url
    with (
        redis.Redis.from_url(url) as client,
        bp.connect(url, namespace=places.namespace(), app=app) as one,
        bp.connect(url, namespace=places.namespace(), app=app) as other,
    ):
        full, empty = _Full(one, client), _Full(other, client)
        full.claim()  # the server knows the scripts from now on
        full.finish(effort.kept)
        full.wait_for(effort.waiting)
        for _ in range(effort.rounds):
            turns = [(full.claim(), empty.claim()) for _ in range(effort.calls)]
            comparison.add_round([mine for mine, _ in turns], [other for _, other in turns])
    return comparison


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
