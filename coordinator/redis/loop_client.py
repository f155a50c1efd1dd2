"""LoopClient: how the async code of one event loop reaches a Redis server."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Sequence
from functools import partial
from typing import Any

from redis.exceptions import TimeoutError as Late

from ..closing import end_all
from .connections import AsyncConnection, apiped
from .in_use import InUse
from .patience import over
from .place import connected_by, end_at_once
from .together import Together

MOST_CONNECTIONS = 64  # in use at the same time by callers that need one each


class LoopClient(InUse):
    """A client, its shared connection, and how it writes the ends of jobs."""

    def __init__(self, client: Any, connection: AsyncConnection, ends: Together) -> None:
        super().__init__()
        self.connection = connection
        self.ends = ends
        self._client = client
        self._room = Semaphore(MOST_CONNECTIONS)

    async def piped(self, commands: Sequence[tuple[Any, ...]], began: float, patience: float) -> list[Any]:
        """Send several commands at once; the replies, errors among them. They were first asked at `began`."""
        waits = self._room.locked()
        async with self._room:
            if waits and over(began, patience):
                raise Late("others got no answer")
            return await apiped(self._client, commands)

    async def disconnect(self) -> None:
        clients = connected_by(self._client)
        await end_all(self.connection.aclose, *(partial(end_at_once, client) for client in clients))
