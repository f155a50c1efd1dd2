"""Once: what several tasks want done at the same time is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from redis.exceptions import ConnectionError as Lost

from ..shielded import shielded


class Once:
    """Calls `do` for all who ask until it ends: they share its end, or its error. One that stops waiting does not stop
    it for the others."""

    def __init__(self, do: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._do = do
        self._task: asyncio.Task[None] | None = None

    async def done(self) -> None:
        """Return when it is done."""
        if self._task is None:
            self._task = asyncio.create_task(self._done())
            self._task.add_done_callback(self._over)
        await shielded(self._task)

    async def _done(self) -> None:
        try:
            await self._do()
        except asyncio.CancelledError:  # by `stop`: those who wait were not cancelled
            raise Lost("closed while it was opened") from None

    def _over(self, _: asyncio.Task[None]) -> None:
        self._task = None

    async def stop(self) -> None:
        """Stop what is being done, because nobody needs it any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
