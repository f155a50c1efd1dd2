"""Side: what the async code of one event loop asks a Redis server by."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.exceptions import TimeoutError as Late

from ..ending import Ending
from .lines import AsyncLines
from .patience import over
from .place import connected_by
from .together import Together

MOST_CONNECTIONS = 64  # of those that ask at the same time, each by one of its own


class Side(NamedTuple):
    """A client, its shared line, and how it writes the ends of jobs."""

    client: Any
    lines: AsyncLines
    ends: Together
    room: Semaphore

    async def piped(self, commands: Sequence[tuple[Any, ...]], began: float, patience: float) -> list[Any]:
        """The replies to commands that are sent at once, errors among them. Asked first `began`, and for so long."""
        waits = self.room.locked()
        async with self.room, self.client.pipeline(transaction=False) as pipe:
            if waits and over(began, patience):
                raise Late("others got no answer")
            for command in commands:
                pipe.execute_command(*command)
            replies: list[Any] = await pipe.execute(raise_on_error=False)
            return replies

    async def aclose(self) -> None:
        """Hang up."""
        with Ending() as ending:
            with ending.part():
                await self.lines.aclose()
            for client in connected_by(self.client):
                with ending.part():
                    await client.aclose()
