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

from .connections import pack
from .once import Once
from .place import TROUBLE, connected_by
from .private import take_over

# The least time between two subscriptions, in seconds: a server may accept each connection and refuse what follows.
_PAUSE = 0.2


class Subscription:
    """Wakes those who joined a channel when something is published on it, or when the connection is lost. `find` gives
    a client of a server that hears of everything."""

    def __init__(self, find: Callable[[], Awaitable[Any]]) -> None:
        self._find = find
        self._joined: dict[str, set[asyncio.Event]] = {}
        self._opening = Once(self._open)
        self._client: Any = None
        self._receiver: _Receiver | None = None
        self._next = 0.0

    def has(self, channel: str, woken: asyncio.Event) -> bool:
        """Whether news of a channel wake that event."""
        return woken in self._joined.get(channel, ())

    async def join(self, channel: str, woken: asyncio.Event) -> None:
        """Have an event set whenever there are news of a channel, or of all channels that fit a pattern. Raises an
        error of the client library if the server is not there."""
        while self._receiver is None or self._receiver.closed:
            await self._opening.done()
        if channel not in self._joined:
            self._receiver.send(f"{_kind(channel)}SUBSCRIBE", channel)
        self._joined.setdefault(channel, set()).add(woken)

    def leave(self, channel: str, woken: asyncio.Event) -> None:
        """The opposite of `join`, also for one that was interrupted."""
        waiting = self._joined.get(channel, set())
        waiting.discard(woken)
        if not waiting and self._joined.pop(channel, None) is not None and self._receiver:
            self._receiver.send(f"{_kind(channel)}UNSUBSCRIBE", channel)

    async def _open(self) -> None:
        await self._hang_up()
        await asyncio.sleep(self._next - time.monotonic())
        self._next = time.monotonic() + _PAUSE
        self._client = await self._find()
        connection = await self._client.connection_pool.get_connection()
        self._receiver = _Receiver(connection, self._tell, self._lost)

    def _tell(self, channel: str) -> None:
        for woken in self._joined.get(channel, ()):
            woken.set()

    def _lost(self) -> None:
        joined, self._joined = self._joined, {}
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
                await each.aclose()

    async def aclose(self) -> None:
        """Disconnect. Wakes everybody who waits."""
        await self._opening.stop()
        await self._hang_up()


def _kind(channel: str) -> str:
    return "P" if channel.endswith("*") else ""


class _Receiver(asyncio.Protocol):
    """Takes over a connection that the client library has made."""

    def __init__(self, connection: Any, tell: Callable[[str], None], lost: Callable[[], None]) -> None:
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
                if isinstance(said, Exception):  # the subscription was refused
                    self.close()
                elif said[0] in (b"message", b"pmessage"):
                    self._tell(said[1].decode())
        except Exception:  # not what a Redis server says
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The server has disconnected."""
        self.close()

    def close(self) -> None:
        """Disconnect."""
        if not self.closed:
            self.closed = True
            self._transport.abort()
            self._lost()
