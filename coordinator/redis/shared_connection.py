"""SharedConnection: one connection for all that an event loop asks at the same time.

What is asked in one turn of the loop is written at once, and the server reads it at once. Each command is carried out
and answered on its own, in order. If a caller stops waiting, its reply is dropped, and the others are not affected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import hiredis
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import InvalidResponse, ReadOnlyError
from redis.exceptions import TimeoutError as Late

from .private import error_reader, take_over

_NOT_YET = object()
_ENOUGH = 16  # so many commands are written without waiting for the end of the turn


class SharedConnection(asyncio.Protocol):
    """Takes over a connection that the client library has made: its transport, and how it reads errors."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.loop = asyncio.get_running_loop()
        self.closed = False
        self._patience: float | None = connection.socket_timeout
        reader: Any = hiredis.Reader  # typed in part only
        self._reader = reader(
            protocolError=InvalidResponse, replyError=error_reader(connection), notEnoughData=_NOT_YET
        )
        self._asked: deque[tuple[asyncio.Future[Any], float]] = deque()  # and when
        self._unsent: list[bytes] = []
        self._heard = 0.0  # when the server last said something
        self._waits = False
        self._transport = take_over(connection, self)

    def ask(self, packed: bytes, *, at_once: bool = False) -> asyncio.Future[Any]:
        """Send a command. The future gets the reply, or an error of the client library.

        With `at_once`, it and what is already waiting are sent now, and not at the end of this turn of the loop.
        """
        future: asyncio.Future[Any] = self.loop.create_future()
        if self.closed:  # lost in the same turn in which it was opened
            future.set_exception(Lost("the connection was lost"))
            return future
        if not self._asked:
            self._transport.write(packed)
        else:  # the connection is in use, so others may ask in this turn, too
            if not self._unsent:
                self.loop.call_soon(self._send)
            self._unsent.append(packed)
            if at_once or len(self._unsent) == _ENOUGH:  # the server can begin with these
                self._send()
        now = self.loop.time()
        self._asked.append((future, now))
        if not self._waits and self._patience is not None:
            self._waits = True
            self.loop.call_at(now + self._patience, self._look)
        return future

    def _send(self) -> None:
        packed, self._unsent = self._unsent, []
        if packed and not self.closed:
            self._transport.write(b"".join(packed))

    def _look(self) -> None:
        self._waits = False
        if not self._asked or self._patience is None:
            return
        due = max(self._asked[0][1], self._heard) + self._patience  # a long reply takes time to arrive
        if due <= self.loop.time():
            self.close(Late("the server does not answer"))
        else:
            self._waits = True
            self.loop.call_at(due, self._look)

    def data_received(self, data: bytes) -> None:
        """Hand out the replies."""
        self._heard = self.loop.time()
        try:
            self._reader.feed(data)
            while not self.closed and (reply := self._reader.gets()) is not _NOT_YET:
                if not isinstance(reply, hiredis.PushNotification):
                    self._answer(reply)
        except Exception as error:  # not what a Redis server says
            self.close(error)

    def _answer(self, reply: Any) -> None:
        future, _ = self._asked.popleft()
        if isinstance(reply, Exception):
            self._refuse(future, reply)
        elif not future.done():
            future.set_result(reply)

    def _refuse(self, future: asyncio.Future[Any], error: Exception) -> None:
        if isinstance(error, ReadOnlyError):  # the master has become a replica: the client must find the new one
            error = Lost(str(error))
        if not future.done():
            future.set_exception(error)
        if isinstance(error, Lost):
            self.close(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server has disconnected."""
        self.close(Lost("the connection was lost"))

    def close(self, error: Exception) -> None:
        """Disconnect. All who wait for a reply get the error."""
        if not self.closed:  # aborting a closed TLS transport would fail
            self.closed = True
            self._transport.abort()
        while self._asked:
            future, _ = self._asked.popleft()
            if not future.done():
                future.set_exception(error)
