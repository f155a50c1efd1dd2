"""PerLoop: things that belong to one event loop, such as connections. Each loop that asks gets its own.

They are closed when their loop ends: whatever runs a loop to its end (`asyncio.run`, `anyio.run`, a `Runner`) closes
the async generators that were begun in it, and one of those holds them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

from ..contracts.lean import dataclass
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
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    closed: bool = False


class PerLoop(Generic[T]):
    """Usable from any thread. `make` is called in the loop that asks, and `close` in the same loop."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._held: dict[asyncio.AbstractEventLoop, _Held[T]] = {}
        # What is to be closed. A generator that nobody holds is closed too late if its loop is just ending: asyncio
        # begins with it in the loop's last turn, and reports that it was not done.
        self._taken: dict[_Held[T], asyncio.AbstractEventLoop] = {}

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
        """Close it in its loop, once: the loop may be ending already, and closing all its generators. Returns whether
        this has closed it. If somebody else does so already, it returns after that: the loop must not end before."""
        async with held.turn:
            if held.closed:
                return False
            held.closed = True
            self._taken.pop(held, None)
            if self._held.get(loop) is held:
                del self._held[loop]
            try:
                await self._close(held.made)
            except asyncio.CancelledError:  # the loop is ending: it closes its generators after it cancelled its tasks
                held.closed = False
                self._taken[held] = loop
                raise
            return True

    async def _end(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> None:
        if await self._hang_up(loop, held) and held.life is not None:
            with suppress(RuntimeError):  # its loop is just closing it
                await held.life.aclose()  # it has nothing to wait for any more

    def take_away(self) -> Callable[[], Awaitable[None]]:
        """Take all away, so that whoever asks after this gets new ones. Returns what closes those that were taken."""
        return partial(self._close_all, self._take())

    def _take(self) -> list[tuple[asyncio.AbstractEventLoop, _Held[T]]]:
        popped = [(loop, self._held.pop(loop, None)) for loop in list(self._held)]
        taken = [(loop, held) for loop, held in popped if held is not None]
        for held, loop in list(self._taken.items()):
            if loop.is_closed():
                self._taken.pop(held, None)
        self._taken.update((held, loop) for loop, held in taken)
        return taken

    def end_soon(self) -> None:
        """`take_away`, for sync code: each loop that runs closes its own as soon as it has a turn. Waits for nothing,
        as this may be called in one of these loops, or in a thread that one of them waits for."""
        for loop, held in self._take():
            self._ask(loop, held)

    def _ask(self, loop: asyncio.AbstractEventLoop, held: _Held[T]) -> Future[None] | None:
        """Have a loop close its own. None if it does not run: it does so when it runs again, if only to end. (After a
        fork, the parent's loops only look as if they were running.)"""
        if held.pid != os.getpid():
            return None
        if not loop.is_running():
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(self._ask, loop, held)
            return None
        end = self._end(loop, held)
        try:
            return asyncio.run_coroutine_threadsafe(end, loop)
        except RuntimeError:  # it has ended just now
            end.close()
            return None

    async def aclose(self) -> None:
        """Close all."""
        await self.take_away()()

    async def _close_all(self, taken: list[tuple[asyncio.AbstractEventLoop, _Held[T]]]) -> None:
        """Close each in its loop."""
        here = asyncio.get_running_loop()
        asked = [self._ask(loop, held) for loop, held in taken if loop is not here]
        ending = [each for each in asked if each is not None]
        with Closing() as all_of_them:
            for loop, held in taken:
                if loop is here:
                    with all_of_them.part():
                        await self._end(loop, held)
            if ending:  # in a thread, because a loop that is blocked for longer has to go on with it later
                ended, _ = await to_thread.run_sync(wait, ending, _CLOSED_WITHIN, limiter=CapacityLimiter(1))
                for each in ended:
                    with all_of_them.part(), suppress(CancelledError):
                        each.result()
