"""The agents and the loop that are measured doing nothing: they mark each job in a file that the processes share."""

from __future__ import annotations

import asyncio
import mmap
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import redis.asyncio

import batonpass as bp
from benchmarks.agents import Topic, say

_VARIABLE = "BATONPASS_BENCHMARK_MARKS"
SLOTS = 32


class Marks:
    """A byte for each job: how often its handler ran."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 0)

    def add(self, number: int) -> None:
        """A handler ran."""
        self._bytes[number] += 1

    def runs(self) -> list[int]:
        """How often that of each job did."""
        return list(self._bytes[:])

    def missing(self) -> int:
        """How many did not run yet."""
        return self._bytes[:].count(0)

    def clear(self) -> None:
        """Begin anew."""
        self._bytes[:] = bytes(len(self._bytes))


def shared_by(path: str) -> dict[str, str]:
    """The environment of processes that mark there."""
    return {_VARIABLE: path}


def shared_marks() -> Marks | None:
    """The marks that this process was given, if any."""
    path = os.environ.get(_VARIABLE)
    return Marks(path) if path else None


class Done(bp.Contract, name="bench.done"):
    number: int


@asynccontextmanager
async def _ready() -> AsyncIterator[Marks]:
    marks = Marks(os.environ[_VARIABLE])
    say("ready")
    yield marks


app = bp.App("noop", lifespan=_ready)


@app.agent("noop", accepts=Topic, returns=Done)
async def noop(topic: Topic, ctx: bp.Context) -> Done:
    ctx.resources.add(topic.number)
    return Done(number=topic.number)


async def read(url: str, stream: str, name: str) -> None:
    """The floor: reads a stream, runs a task for each message, acknowledges it."""
    marks = Marks(os.environ[_VARIABLE])
    tasks: set[asyncio.Task[None]] = set()
    async with redis.asyncio.Redis.from_url(url, socket_timeout=None) as client:

        async def handle(position: bytes, fields: dict[bytes, bytes]) -> None:
            marks.add(Topic.model_validate_json(fields[b"data"]).number)
            await client.xack(stream, "readers", position)

        say("ready")
        while True:
            found: Any = await client.xreadgroup("readers", name, {stream: ">"}, count=SLOTS - len(tasks), block=3000)
            for _, entries in found:
                for entry in entries:
                    task = asyncio.create_task(handle(*entry))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
            if len(tasks) == SLOTS:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(read(*sys.argv[1:]))
