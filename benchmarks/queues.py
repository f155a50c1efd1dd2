"""Other queues on Redis, as they come, for those who have them installed (the dependency group `bench`).

They do less for a job: none of them fences or keeps a result here, and huey loses what a worker held that dies.
`python -m benchmarks.queue_worker` runs one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import redis

Handler = Callable[[int], None]
Send = Callable[[int, str], Awaitable[object]]
_THREADS = 8  # of huey, which has no tasks
_TASK = "noop"


@dataclass(frozen=True)
class Queue:
    """A kind of queue: how jobs are sent there, how a worker runs them, and how many are not acknowledged yet."""

    name: str
    library: str
    sending: Callable[[str, str], Any]
    """(url, queue) -> async context manager of a `Send`."""
    work: Callable[[str, str, Handler, Callable[[], None], int], Coroutine[Any, Any, None]]
    """(url, queue, handler, told when it is ready, slots)."""
    pending: Callable[[Any, str], Awaitable[int]]
    """(Redis client, queue)."""


def _huey(url: str, queue: str, handler: Handler) -> tuple[Any, Any]:
    library: Any = importlib.import_module("huey")  # which is not there where types are checked
    pool = redis.ConnectionPool.from_url(url, socket_timeout=None)
    made = library.RedisHuey(queue, clean_name=False, connection_pool=pool)

    def noop(number: int, text: str) -> None:
        handler(number)

    return made, made.task(name=_TASK)(noop)


@asynccontextmanager
async def _huey_sending(url: str, queue: str) -> AsyncIterator[Send]:
    made, task = _huey(url, queue, _nothing)

    async def send(number: int, text: str) -> None:
        task(number, text)  # it has no async side

    yield send
    made.storage.pool.disconnect()


async def _huey_work(url: str, queue: str, handler: Handler, ready: Callable[[], None], _: int) -> None:
    made, _task = _huey(url, queue, handler)
    consumer = made.create_consumer(workers=_THREADS, periodic=False)
    ready()
    consumer.run()


async def _huey_pending(_client: Any, _queue: str) -> int:
    return 0  # it is over when it is taken


def _taskiq(url: str, queue: str, handler: Handler) -> tuple[Any, Any]:
    library: Any = importlib.import_module("taskiq_redis")
    broker = library.RedisStreamBroker(url, queue_name=queue, socket_timeout=None)

    async def noop(number: int, text: str) -> None:
        handler(number)

    return broker, broker.register_task(noop, task_name=_TASK)


@asynccontextmanager
async def _taskiq_sending(url: str, queue: str) -> AsyncIterator[Send]:
    broker, task = _taskiq(url, queue, _nothing)
    await broker.startup()

    async def send(number: int, text: str) -> None:
        await task.kiq(number, text)

    yield send
    await broker.shutdown()


async def _taskiq_work(url: str, queue: str, handler: Handler, ready: Callable[[], None], slots: int) -> None:
    api: Any = importlib.import_module("taskiq.api")
    broker, _task = _taskiq(url, queue, handler)
    broker.is_worker_process = True
    await broker.startup()
    ready()
    await api.run_receiver_task(broker, max_async_tasks=slots)


async def _taskiq_pending(client: Any, queue: str) -> int:
    return int((await client.xpending(queue, "taskiq"))["pending"])


def _nothing(_number: int) -> None:
    pass


_QUEUES = (
    Queue("taskiq", "taskiq_redis", _taskiq_sending, _taskiq_work, _taskiq_pending),
    Queue("huey", "huey", _huey_sending, _huey_work, _huey_pending),
)


def by_name(name: str) -> Queue:
    """The queue of that name."""
    return next(queue for queue in _QUEUES if queue.name == name)


@cache
def installed() -> tuple[Queue, ...]:
    """Those that can be measured here; of the others a line says that they are left out."""
    found = tuple(queue for queue in _QUEUES if find_spec(queue.library))
    if missing := [queue.name for queue in _QUEUES if queue not in found]:
        print(f"{' and '.join(missing)} not installed (`uv pip install --group bench`): left out", file=sys.stderr)
    return found
