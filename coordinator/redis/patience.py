"""Patience: how long a server that does not answer is waited for, and how often it is asked again.

Every command may be repeated after a lost reply: ids and leases are minted by the caller. So what gets no answer in
time is asked once more, by a new connection (a firewall may have forgotten the first one, or another server be the
master by now), and then given up.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from redis.asyncio.retry import Retry as _AsyncRetry
from redis.backoff import AbstractBackoff
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import TimeoutError
from redis.retry import Retry as _Retry

T = TypeVar("T")
# Seconds. About the longest that a user waits for an answer, and the limit of each of two attempts (`socket_timeout`).
WITHIN = 10.0
ANSWER_WITHIN = WITHIN / 2

# Errors of a server that is not there. redis-py before 8 repeats on the socket's own before it turns them into its own.
_GONE: tuple[type[Any], ...] = (Lost, ConnectionError)

_began: ContextVar[float | None] = ContextVar("began", default=None)
_silent_once: ContextVar[bool] = ContextVar("silent_once", default=False)


def patience(socket_timeout: float) -> float:
    """For how many seconds after its first attempt a command may be repeated. Enough to repeat it once, even if the
    server is given more time to answer than usual."""
    return max(WITHIN - socket_timeout, socket_timeout) * 1.25  # a busy process notices late that time is up


@contextmanager
def asked(began: float) -> Generator[None]:
    """A block whose commands were first sent at an earlier time, by other means: their patience runs from then on."""
    token = _began.set(began)
    try:
        yield
    finally:
        _began.reset(token)


@contextmanager
def silent_once() -> Generator[None]:
    """A block in which a server that does not answer is not asked again."""
    token = _silent_once.set(True)
    try:
        yield
    finally:
        _silent_once.reset(token)


def first_asked() -> float:
    """When the command that is being sent now was first sent."""
    return _began.get() or time.monotonic()


def over(began: float, seconds: float) -> bool:
    """Whether this many seconds have passed."""
    return time.monotonic() - began >= seconds


class Repeats(_Retry):
    """How the client library repeats what failed, as long as patience lasts. `late`: also what got no answer."""

    def __init__(self, backoff: AbstractBackoff, retries: int, seconds: float, *, late: bool) -> None:
        super().__init__(backoff, retries, (*_GONE, TimeoutError) if late else _GONE)
        self._seconds = seconds

    def call_with_retry(self, do: Callable[[], T], fail: Callable[..., Any], *args: Any, **more: Any) -> T:
        began = first_asked()

        def failed(error: Exception, *count: int) -> None:
            fail(error, *count)
            if over(began, self._seconds) or (_silent_once.get() and isinstance(error, TimeoutError)):
                raise error

        return super().call_with_retry(do, failed, *args, **more)


class AsyncRepeats(_AsyncRetry):
    """`Repeats` for async code."""

    def __init__(self, backoff: AbstractBackoff, retries: int, seconds: float, *, late: bool) -> None:
        super().__init__(backoff, retries, (*_GONE, TimeoutError) if late else _GONE)
        self._seconds = seconds

    async def call_with_retry(
        self, do: Callable[[], Awaitable[T]], fail: Callable[..., Any], *args: Any, **more: Any
    ) -> T:
        began = first_asked()

        async def failed(error: Exception, *count: int) -> None:
            await fail(error, *count)
            if over(began, self._seconds):
                raise error

        return await super().call_with_retry(do, failed, *args, **more)
