"""Subscription: one for all tasks of an event loop that wait for events.

A connection for each would take a server's connections and a process's files: 1,024 by default, half as many waits.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import hiredis

from .channels import Channels
from .connections import pack
from .once import Once
from .place import TROUBLE, connected_by, end_at_once
from .private import take_over

# The least time between two subscriptions, in seconds: a server may accept each connection and refuse what follows.
_PAUSE = 0.2


class Subscription:
    """Wakes those who joined a channel when something is published on it, or when the connection is lost. `find` gives
    a client of a server that hears of everything."""

    def __init__(self, find: Callable[[], Awaitable[Any]], channels: Channels) -> None:
        self._find = find
        self._channels = channels
        self._joined: dict[str, set[asyncio.Event]] = {}
        # How the server was asked for them: the command's first letter, and its argument.
        self._asked: dict[str, tuple[str, str]] = {}
        self._opening = Once(self._open)
        self._client: Any = None
        self._receiver: _Receiver | None = None
        self._next = 0.0

    def has(self, channel: str, woken: asyncio.Event) -> bool:
        """Whether news of a channel wake that event."""
        return woken in self._joined.get(channel, ())

    async def join(self, channel: str, woken: asyncio.Event) -> None:
        """Have an event set whenever there are news of a channel. Raises an error of the client library if the server
        is not there."""
        while self._receiver is None or self._receiver.closed:
            await self._opening.done()
        if channel not in self._joined:
            kind, asked = self._asked[channel] = self._channels.asked(channel)
            self._receiver.send(f"{kind}SUBSCRIBE", asked)
        self._joined.setdefault(channel, set()).add(woken)

    def leave(self, channel: str, woken: asyncio.Event) -> None:
        """The opposite of `join`, also for one that was interrupted."""
        waiting = self._joined.get(channel, set())
        waiting.discard(woken)
        if not waiting and self._joined.pop(channel, None) is not None and self._receiver:
            kind, asked = self._asked.pop(channel)
            self._receiver.send(f"{kind}UNSUBSCRIBE", asked)

    async def _open(self) -> None:
        await self._hang_up()
        await asyncio.sleep(self._next - time.monotonic())
        self._next = time.monotonic() + _PAUSE
        self._client = await self._find()
        connection = await self._client.connection_pool.get_connection()
        self._receiver = _Receiver(connection, self._tell, self._lost)

    def _tell(self, published: str, by_pattern: bool) -> None:
        channel = self._channels.heard(published, by_pattern=by_pattern)
        for woken in self._joined.get(channel or "", ()):
            woken.set()

    def _lost(self, refused: bool) -> None:
        joined, self._joined = self._joined, {}
        asked, self._asked = self._asked, {}
        for _, each in asked.values() if refused else ():
            self._channels.refused(each)
        for woken in {each for waiting in joined.values() for each in waiting}:
            woken.set()

    async def _hang_up(self) -> None:
        receiver, client = self._receiver, self._client
        self._receiver = self._client = None
        if receiver is not None:
            receiver.close()
            await receiver.connection.disconnect(nowait=True)
            await client.connection_pool.release(receiver.connection)
        for each in connected_by(client) if client is not None else ():
            with suppress(*TROUBLE):
                await end_at_once(each)

    async def aclose(self) -> None:
        """Disconnect. Wakes everybody who waits."""
        await self._opening.stop()
        await self._hang_up()


class _Receiver(asyncio.Protocol):
    """Takes over a connection that the client library has made."""

    def __init__(self, connection: Any, tell: Callable[[str, bool], None], lost: Callable[[bool], None]) -> None:
        self.connection = connection
        self.closed = False
        self._tell = tell
        self._lost = lost
        self._reader: Any = hiredis.Reader()
        self._transport = take_over(connection, self)

    def send(self, *command: str) -> None:
        """Send a command. Nobody needs the server's answer."""
        if not self.closed:
            self._transport.write(pack(command))

    def data_received(self, data: bytes) -> None:
        """Pass on the news."""
        try:
            self._reader.feed(data)
            while not self.closed and (said := self._reader.gets()) is not False:
                if isinstance(said, Exception):
                    self.close(refused=str(said).startswith("NOPERM"))
                elif said[0] in (b"message", b"pmessage"):
                    self._tell(said[-2].decode(), said[0] == b"pmessage")
        except Exception:  # not what a Redis server says
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The server has disconnected."""
        self.close()

    def close(self, *, refused: bool = False) -> None:
        """Disconnect. `refused`: because the user may not subscribe."""
        if not self.closed:
            self.closed = True
            self._transport.abort()
            self._lost(refused)
