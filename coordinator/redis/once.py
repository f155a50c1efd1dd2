"""Once: what many tasks want done at the same time, and one does for all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from redis.exceptions import ConnectionError as Lost


class Once:
    """Calls `do` for all who ask until it ends: they share its end, and its error. Who goes away leaves it to the
    others."""

    def __init__(self, do: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._do = do
        self._task: asyncio.Task[None] | None = None

    async def done(self) -> None:
        """Return when it is done."""
        if self._task is None:
            self._task = asyncio.create_task(self._done())
            self._task.add_done_callback(self._over)
        await asyncio.shield(self._task)

    async def _done(self) -> None:
        try:
            await self._do()
        except asyncio.CancelledError:  # it was stopped: those who ask were not cancelled
            raise Lost("closed while it was opened") from None

    def _over(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # it is not lost, though nobody may be there any more

    async def stop(self) -> None:
        """End what is being done, as nobody needs it any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
