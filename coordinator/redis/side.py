"""Side: what the async code of one event loop asks a Redis server by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .lines import AsyncLines
from .place import connected_by
from .together import Together


class Side(NamedTuple):
    """A client, its shared line, and how it writes the ends of jobs."""

    client: Any
    lines: AsyncLines
    ends: Together

    async def piped(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The replies to commands that are sent at once, errors among them."""
        async with self.client.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            replies: list[Any] = await pipe.execute(raise_on_error=False)
            return replies

    async def aclose(self) -> None:
        """Hang up."""
        await self.lines.aclose()
        for client in connected_by(self.client):
            await client.aclose()
