"""PerLoop: things that belong to one event loop, such as connections. Each loop that asks gets its own.

They are closed when their loop ends: whatever runs a loop to its end (`asyncio.run`, `anyio.run`, a `Runner`) closes
the async generators that were begun in it, and one of those holds them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

import anyio

from .closing import Closing

T = TypeVar("T")
_CLOSED_WITHIN = 2.0  # seconds


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread, if there is one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class _Held(NamedTuple, Generic[T]):
    made: T
    life: AsyncGenerator[None]
    pid: int


class PerLoop(Generic[T]):
    """Usable from any thread. `make` is called in the loop that asks, and `close` in the same loop."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._held: dict[asyncio.AbstractEventLoop, _Held[T]] = {}

    def here(self) -> T:
        """The running loop's."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        return held.made if held is not None else self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> T:
        made = self._make()
        life = self._life(loop, made)
        with suppress(StopIteration):  # the generator runs to its `yield` without waiting
            life.asend(None).send(None)
        self._held[loop] = _Held(made, life, os.getpid())
        for gone in [each for each in list(self._held) if each.is_closed()]:  # by code that closes no generators
            self._held.pop(gone, None)  # another thread may find it at the same time
        return made

    async def _life(self, loop: asyncio.AbstractEventLoop, made: T) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._hang_up(loop, made)

    async def _hang_up(self, loop: asyncio.AbstractEventLoop, made: T) -> bool:
        """Close it in its loop, once: the loop may be ending already, and closing all its generators."""
        held = self._held.get(loop)
        if held is None or held.made is not made:
            return False
        del self._held[loop]
        await self._close(made)
        return True

    async def _end(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> None:
        if await self._hang_up(loop, held.made):
            await held.life.aclose()  # it has nothing to wait for any more

    async def aclose(self) -> None:
        """Close all, each in its loop. (After a fork, the parent's loops only look as if they were running.)"""
        here, ending = asyncio.get_running_loop(), list[Future[None]]()
        with Closing() as all_of_them:
            for loop, held in list(self._held.items()):
                if loop is here:
                    with all_of_them.part():
                        await self._end(loop, held)
                elif loop.is_running() and held.pid == os.getpid():
                    ending.append(asyncio.run_coroutine_threadsafe(self._end(loop, held), loop))
            with anyio.move_on_after(_CLOSED_WITHIN):  # a blocked loop closes its own when it ends
                for each in ending:
                    with all_of_them.part():
                        await asyncio.wrap_future(each)
