"""Threads: agents' code in threads, which can be left behind there when its attempt ends first.

A thread can't be stopped. Its code is refused at its next call of the context. Code that never makes one stays until
its process restarts.
"""

from __future__ import annotations

import logging
import os
from asyncio import Task, current_task
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from threading import get_ident
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio import to_thread
from typing_extensions import ParamSpec

from .copies import end_if_copied

T = TypeVar("T")
P = ParamSpec("P")
Place: TypeAlias = "Task[Any] | int"
# Seconds.
_MOMENT = 2.0
_log = logging.getLogger("batonpass.worker")
_CURRENT: ContextVar[Calls | None] = ContextVar("batonpass_calls", default=None)


def place() -> Place:
    """Where code runs: its task, or its thread if it is in none."""
    try:
        return current_task() or get_ident()
    except RuntimeError:  # no event loop
        return get_ident()


class Calls:
    """The calls of one attempt that run in threads."""

    def __init__(self) -> None:
        self._running: set[object] = set()

    @property
    def number(self) -> int:
        """How many there are now."""
        return len(self._running)

    def enter(self) -> None:
        """From now on, calls by this task, and by what it starts, belong to these."""
        _CURRENT.set(self)

    def note(self, future: Future[Any]) -> None:
        """Add a call that ends with a future."""
        self._running.add(future)
        future.add_done_callback(self._running.discard)

    def run(self, fn: Callable[[], T]) -> T:
        """Make a call in this thread."""
        call, home = object(), os.getpid()
        self._running.add(call)
        try:
            return fn()
        except GeneratorExit as error:
            raise RuntimeError("GeneratorExit") from error  # as it is, it would close every coroutine that awaits this
        finally:
            end_if_copied(home)
            self._running.discard(call)


def is_among(calls: Calls, task: Task[Any]) -> bool:
    """Whether a task is surely one of an attempt's. Python tells only from 3.12 on."""
    context: Any = getattr(task, "get_context", None)
    return context is not None and context().get(_CURRENT) is calls


def is_alongside(task: Task[Any]) -> bool:
    """Whether a task may be of the same attempt as the code that asks."""
    calls = _CURRENT.get()
    return calls is None or not hasattr(task, "get_context") or is_among(calls, task)


async def in_thread(fn: Callable[[], T]) -> T:
    """Run an agent's code in a thread. If this is cancelled, the thread is left behind."""
    calls = _CURRENT.get()
    return await to_thread.run_sync(fn if calls is None else partial(calls.run, fn), abandon_on_cancel=True)


class Executor(ThreadPoolExecutor):
    """A loop's default executor, where frameworks run their users' sync code."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        future = super().submit(fn, *args, **kwargs)
        if (calls := _CURRENT.get()) is not None:
            calls.note(future)
        return future


class LeftBehind:
    """The calls of a worker that outlive their attempts. `most` are too many (0: no limit)."""

    def __init__(self, most: int = 0) -> None:
        self._many = anyio.Event()
        self._most = most
        self._calls: list[Calls] = []

    @property
    def number(self) -> int:
        """How many there are now."""
        self._calls = [calls for calls in self._calls if calls.number]
        return sum(calls.number for calls in self._calls)

    def take(self, about: str, calls: Calls) -> None:
        """An attempt has ended: those of its calls that still run are left behind."""
        if not calls.number:
            return
        self._calls.append(calls)
        number = self.number
        _log.warning("%s: its code still runs in a thread, which is left behind (now %d in all)", about, number)
        if 0 < self._most <= number:
            self._many.set()

    async def full(self) -> None:
        """Wait until there are too many, and still are a moment later. (Calls that only wait for a store end soon.)"""
        while True:
            await self._many.wait()
            self._many = anyio.Event()
            await anyio.sleep(_MOMENT)
            if self.number >= self._most:
                return
