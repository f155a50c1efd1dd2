"""Latch: something that threads, and tasks of any loop, can wait for. Either kind of future costs several times as
much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from ....coordinator.loops import running_loop


class Latch:
    """Is opened once, with or without an error."""

    __slots__ = ("_wakes", "error", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        self.error: BaseException | None = None
        self._wakes: list[Callable[[], object]] = []

    def open(self, error: BaseException | None = None) -> None:
        """Wake up all who wait."""
        self.error = error
        self.is_open = True  # before the wake-ups: whoever joins the list later looks at this after joining
        for wake in [*self._wakes]:
            wake()

    def check(self) -> None:
        """Raise the error that it was opened with, if any."""
        if self.error is not None:
            raise self.error

    def wait(self, timeout: float = -1) -> bool:
        """Block a thread until it is open, or for at most `timeout` seconds. Returns whether it is open."""
        if self.is_open:
            return True
        bolt = Lock()
        bolt.acquire()
        self._wakes.append(bolt.release)
        if not self.is_open and not bolt.acquire(timeout=timeout):
            with suppress(ValueError):
                self._wakes.remove(bolt.release)
        return self.is_open

    async def await_(self, timeout: float | None = None) -> None:
        """`wait` for a task, but without limit if `timeout` is None."""
        if self.is_open:
            return
        loop = asyncio.get_running_loop()
        woken = loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        def knock() -> None:
            if running_loop() is loop:
                wake()
            else:
                with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(wake)

        self._wakes.append(knock)
        if self.is_open:
            return
        timer = None if timeout is None else loop.call_later(timeout, wake)
        try:
            await woken
        finally:
            if timer is not None:
                timer.cancel()
            with suppress(ValueError):
                self._wakes.remove(knock)
