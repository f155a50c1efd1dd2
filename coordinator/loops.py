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
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

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


@dataclass(slots=True, eq=False)
class _Held(Generic[T]):
    made: T
    pid: int
    life: AsyncGenerator[None] | None = None
    closes: bool = False


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
        held = _Held(self._make(), os.getpid())
        held.life = self._life(loop, held)
        with suppress(StopIteration):  # the generator runs to its `yield` without waiting
            held.life.asend(None).send(None)
        self._held[loop] = held
        for gone in [each for each in list(self._held) if each.is_closed()]:  # by code that closes no generators
            self._held.pop(gone, None)  # another thread may find it at the same time
        return held.made

    async def _life(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._hang_up(loop, held)

    async def _hang_up(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> bool:
        """Close it in its loop, once: the loop may be ending already, and closing all its generators."""
        if held.closes:
            return False
        held.closes = True
        if self._held.get(loop) is held:
            del self._held[loop]
        await self._close(held.made)
        return True

    async def _end(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> None:
        if await self._hang_up(loop, held) and held.life is not None:
            await held.life.aclose()  # it has nothing to wait for any more

    def take_away(self) -> Callable[[], Awaitable[None]]:
        """Take all away, so that whoever asks after this gets new ones. Returns what closes those that were taken."""
        taken = [(loop, self._held.pop(loop, None)) for loop in list(self._held)]
        return partial(self._close_all, [(loop, held) for loop, held in taken if held is not None])

    async def aclose(self) -> None:
        """Close all."""
        await self.take_away()()

    async def _close_all(self, taken: list[tuple[asyncio.AbstractEventLoop, _Held[T]]]) -> None:
        """Close each in its loop. (After a fork, the parent's loops only look as if they were running.)"""
        here, ending = asyncio.get_running_loop(), list[Future[None]]()
        with Closing() as all_of_them:
            for loop, held in taken:
                if loop is here:
                    with all_of_them.part():
                        await self._end(loop, held)
                elif loop.is_running() and held.pid == os.getpid():
                    ending.append(asyncio.run_coroutine_threadsafe(self._end(loop, held), loop))
            with anyio.move_on_after(_CLOSED_WITHIN):  # a blocked loop closes its own when it ends
                for each in ending:
                    with all_of_them.part():
                        await asyncio.wrap_future(each)
