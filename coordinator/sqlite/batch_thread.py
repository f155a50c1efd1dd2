"""BatchThread: a thread that carries out what tasks of event loops ask for, several at a time if they come together.

Handing something to a thread and back takes about as long as the work itself, and wakes the loop each time. So the
thread stays, and returns all answers of a batch at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from ...contracts.lean import dataclass
from ..forks import tell_of_forks
from ..shielded import shielded

T = TypeVar("T")
# For how many seconds the thread waits for more to do. Meanwhile it keeps what it works with open.
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
        """Deliver the answer, in the loop."""
        self.given = True
        if self.future.done():  # its task was cancelled just now
            return
        if self.left:
            self.future.set_result(None)
        elif isinstance(self.answer, BaseException):
            self.future.set_exception(self.answer)
        else:
            self.future.set_result(self.answer)


class BatchThread(Generic[T]):
    """`do` is given a batch of requests and returns an answer for each. An answer that is an error is raised."""

    def __init__(self, do: Callable[[Sequence[T]], Sequence[Any]]) -> None:
        self._do = do
        self.forked()
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the thread, and those who asked it, belong to the parent."""
        self._lock = Lock()
        self._queue: SimpleQueue[_Asked[T]] = SimpleQueue()
        self._works = False
        self._left: WeakSet[asyncio.Future[Any]] = WeakSet()

    async def ask(self, what: T) -> Any:
        """The answer to a request. The request is carried out even if the task is cancelled."""
        loop = asyncio.get_running_loop()
        asked = _Asked(what, loop, loop.create_future())
        with self._lock:
            if not self._works:  # starting a thread may fail: then nothing is queued
                Thread(target=self._work, name="batonpass-sqlite", daemon=True).start()
                self._works = True
            self._queue.put(asked)
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
        """Return when everything is done that cancelled tasks of this loop had asked for."""
        if self._left:
            loop = asyncio.get_running_loop()
            for future in [each for each in self._left if each.get_loop() is loop]:
                await shielded(future)

    def _work(self) -> None:
        while asked := self._next():
            try:
                answers = self._do([each.what for each in asked])
            except BaseException as error:
                answers = [error] * len(asked)
            for each, answer in zip(asked, answers, strict=True):
                each.answer = answer
            for loop in {each.loop for each in asked}:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(_give, [each for each in asked if each.loop is loop])

    def _next(self) -> list[_Asked[T]]:
        """All requests in the queue. Empty if none came for long."""
        try:
            asked = [self._queue.get(timeout=_IDLE)]
        except Empty:
            with self._lock:
                if self._queue.empty():
                    self._works = False
                    return []
            return self._next()
        with suppress(Empty):
            while True:
                asked.append(self._queue.get_nowait())
        return asked


def _give(asked: Sequence[_Asked[Any]]) -> None:
    for each in asked:
        each.give()
