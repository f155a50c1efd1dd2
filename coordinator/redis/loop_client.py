"""LoopClient: how the async code of one event loop reaches a Redis server."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anyio import CancelScope
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import TimeoutError as Late

from ..closing import end_all
from .connections import AsyncConnection, apiped
from .patience import over
from .place import connected_by
from .private import CLOSED
from .together import Together

MOST_CONNECTIONS = 64  # in use at the same time by callers that need one each


@dataclass(slots=True)
class LoopClient:
    """A client, its shared connection, and how it writes the ends of jobs."""

    client: Any
    connection: AsyncConnection
    ends: Together
    room: Semaphore
    closed: bool = False

    async def piped(self, commands: Sequence[tuple[Any, ...]], began: float, patience: float) -> list[Any]:
        """Send several commands at once; the replies, errors among them. They were first asked at `began`."""
        waits = self.room.locked()
        async with self.room:
            if waits and over(began, patience):
                raise Late("others got no answer")
            try:
                return await apiped(self.client, commands)
            except CLOSED as error:
                if self.closed:
                    raise Lost("closed while it was in use") from error
                raise
            finally:
                if self.closed:  # while this connected: the client knows only now what it has to disconnect
                    with CancelScope(shield=True):
                        await self._disconnect()

    async def aclose(self) -> None:
        """Disconnect."""
        self.closed = True
        await end_all(self.connection.aclose, self._disconnect)

    async def _disconnect(self) -> None:
        await end_all(*(client.aclose for client in connected_by(self.client)))
