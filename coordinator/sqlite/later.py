"""Later: waits for the disk for which nobody is in a hurry are made together, and with those for which somebody is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from .clerk import Clerk

# Seconds that one waits for more of them to come.
_PATIENCE = 0.02


class Later:
    """What the tasks of an event loop wait for. `keeper` waits for the disk until that has a commit."""

    def __init__(self, keeper: Clerk[int]) -> None:
        self._keeper = keeper
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def kept(self, commit: int, *, hurry: bool) -> None:
        """Return when the disk has that commit: soon, if there is a `hurry`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((commit, future))
        if hurry:
            self._begin()
        elif self._timer is None:
            self._timer = loop.call_later(_PATIENCE, self._begin)
        await future

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        if waiting:
            asked = self._keeper.begin(max(commit for commit, _ in waiting))
            asked.add_done_callback(partial(_tell, [future for _, future in waiting]))


def _tell(waiting: Sequence[asyncio.Future[None]], asked: asyncio.Future[None]) -> None:
    error = asked.exception()
    for future in waiting:
        if future.done():  # who waited went away
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
