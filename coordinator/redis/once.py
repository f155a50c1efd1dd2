"""Once: what several tasks want done at the same time is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from redis.exceptions import ConnectionError as Lost


class Once:
    """Calls `do` for all who ask until it ends: they share its end, or its error. One that stops waiting does not stop
    it for the others."""

    def __init__(self, do: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._do = do
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    async def done(self) -> None:
        """Return when it is done. `Lost` if it is, or was, stopped."""
        if self._stopped:
            raise Lost("closed")
        task = self._task
        if task is None:
            task = self._task = asyncio.create_task(self._do())
            task.add_done_callback(self._over)
        await asyncio.wait([task])
        if task.cancelled():  # by `stop`, maybe before it began: those who wait were not cancelled
            raise Lost("closed while it was opened")
        task.result()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # marks it as seen: those who waited for it may have been cancelled

    async def stop(self) -> None:
        """Stop what is being done, for good, because nobody needs it any more."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
