"""Clerk: a thread that does what the tasks of event loops ask for, together what stands in line at the same time.

A crossing between threads costs a task as much as the work itself here, and each wakes its loop: so the thread stays,
and answers all that it did at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")
# How long the thread waits for more to do, in seconds: it holds on to what it works with.
_IDLE = 2.0


@dataclass(slots=True)
class _Asked(Generic[T]):
    what: T
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    answer: Any = None
    given: bool = False
    left: bool = False

    def give(self) -> None:
        """Hand the answer over, in the loop."""
        self.given = True
        if self.future.done():  # who asked goes away at this moment
            return
        if self.left:
            self.future.set_result(None)
        elif isinstance(self.answer, BaseException):
            self.future.set_exception(self.answer)
        else:
            self.future.set_result(self.answer)


class Clerk(Generic[T]):
    """`do` is given what was asked for, and answers one by one; an answer that is an error is raised."""

    def __init__(self, do: Callable[[Sequence[T]], Sequence[Any]]) -> None:
        self._do = do
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = Lock()
        self._line: SimpleQueue[_Asked[T]] = SimpleQueue()
        self._works = False
        self._left: WeakSet[asyncio.Future[Any]] = WeakSet()

    async def ask(self, what: T) -> Any:
        """What comes of it. It is done also if the task that asked goes away."""
        if self._pid != os.getpid():  # a fork: the thread is the parent's
            self._begin()
        loop = asyncio.get_running_loop()
        asked = _Asked(what, loop, loop.create_future())
        with self._lock:
            if not self._works:  # it may be that no thread can be had: then nothing stands in line, and the next tries
                Thread(target=self._work, name="batonpass-sqlite", daemon=True).start()
                self._works = True
            self._line.put(asked)
        try:
            return await asked.future
        except asyncio.CancelledError:
            self._leave(asked)
            raise

    def _leave(self, asked: _Asked[T]) -> None:
        if not asked.given:
            asked.left, asked.future = True, asked.loop.create_future()
            self._left.add(asked.future)

    async def settled(self) -> None:
        """Return when what tasks of this loop asked for, before they went away, is done."""
        if self._left:
            loop = asyncio.get_running_loop()
            for future in [each for each in self._left if each.get_loop() is loop]:
                await asyncio.shield(future)

    def _work(self) -> None:
        while asked := self._next():
            try:
                answers = self._do([each.what for each in asked])
            except BaseException as error:
                answers = [error] * len(asked)
            for each, answer in zip(asked, answers, strict=True):
                each.answer = answer
            for loop in {each.loop for each in asked}:
                with suppress(RuntimeError):  # it is closed: nobody waits any more
                    loop.call_soon_threadsafe(_give, [each for each in asked if each.loop is loop])

    def _next(self) -> list[_Asked[T]]:
        """All that stands in line; nothing if there was nothing for long."""
        try:
            asked = [self._line.get(timeout=_IDLE)]
        except Empty:
            with self._lock:
                if self._line.empty():
                    self._works = False
                    return []
            return self._next()
        with suppress(Empty):
            while True:
                asked.append(self._line.get_nowait())
        return asked


def _give(asked: Sequence[_Asked[Any]]) -> None:
    for each in asked:
        each.give()
