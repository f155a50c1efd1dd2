"""Bell: wakes threads and event loops of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Condition

import anyio

from .forks import tell_of_forks


class Bell:
    """Counts rings; waiters remember the count that they have seen, so that no ring is missed."""

    def __init__(self) -> None:
        self._rings = 0
        self.forked()
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: nobody waits in the new process, and the thread that held the lock does not exist here."""
        self._changed = Condition()
        self._called: set[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = set()

    @property
    def rings(self) -> int:
        """How often it has rung."""
        return self._rings

    def ring(self) -> None:
        """Wake everybody. From any thread."""
        with self._changed:
            self._rings += 1
            self._changed.notify_all()
            for loop, act in self._called:
                with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
                    loop.call_soon_threadsafe(act)

    def call(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        """Have each ring call something in a loop."""
        with self._changed:
            self._called.add((loop, act))

    def forget(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
        """The opposite of `call`."""
        with self._changed:
            self._called.discard((loop, act))

    def wait(self, seen: int, timeout: float) -> int:
        """Block until it has rung more than `seen` times, at most `timeout` seconds. Returns the count."""
        with self._changed:
            self._changed.wait_for(lambda: self._rings != seen, timeout)
            return self._rings

    async def await_(self, seen: int, timeout: float) -> int:
        """`wait` for async code."""
        loop, rung = asyncio.get_running_loop(), asyncio.Event()
        self.call(loop, rung.set)
        try:
            if self._rings == seen:
                with anyio.move_on_after(timeout):
                    await rung.wait()
        finally:
            self.forget(loop, rung.set)
        return self._rings


class BellWatch:
    """A `Watch` on a bell alone."""

    def __init__(self, bell: Bell) -> None:
        self._bell = bell
        self._seen = bell.rings

    def wait(self, timeout: float) -> None:
        self._seen = self._bell.wait(self._seen, timeout)

    async def await_(self, timeout: float) -> None:
        self._seen = await self._bell.await_(self._seen, timeout)

    async def ainterrupt(self) -> None:
        self._bell.ring()

    def close(self) -> None:
        """Nothing to free."""

    async def aopen(self) -> None:
        """Nothing to open."""

    async def aclose(self) -> None:
        """Nothing to free."""
