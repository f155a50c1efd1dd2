"""Connections: connections that are used bare, one command and its reply at a time.

The client library's own way from a command to its reply takes a third of what a save takes altogether (12 us of 35, and
22 of 72 in async code; redis-py 8.1, hiredis): it takes a connection from the pool and asks whether that is alive,
and records and retries what we retry ourselves. Where it has something to do (a lost connection) it is asked
to: the caller goes on with the client.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import hiredis
from redis.exceptions import ConnectionError
from redis.exceptions import ResponseError as _Refused

from ..forks import tell_of_forks
from ..lifetime import Lifetime
from .cancels import heeding
from .once import Once
from .private import cut_off, idle, is_lost

_MOST = 32

# Typed for text and bytes alone.
pack: Callable[[tuple[Any, ...]], bytes] = getattr(hiredis, "pack_command")  # noqa: B009


def _most(pool: Any) -> int:
    """How many connections to keep idle: the client needs some of its pool's, too."""
    return min(_MOST, int(getattr(pool, "max_connections", _MOST)) // 2)


def piped(client: Any, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Have a client for sync code send several commands at once. Returns the replies in order, errors among them."""
    with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        replies: list[Any] = pipe.execute(raise_on_error=False)
        return replies


async def apiped(client: Any, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """`piped` for async code."""
    return await heeding(_apiped(client, commands))


async def _apiped(client: Any, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    async with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        replies: list[Any] = await pipe.execute(raise_on_error=False)
        return replies


class Connections:
    """The idle connections of a client for sync code. Usable from any thread."""

    def __init__(self, client: Any, lifetime: Lifetime) -> None:
        self._pool = client.connection_pool
        self._lifetime = lifetime
        self._most = _most(self._pool)
        self.forked()
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the connections belong to the parent."""
        self._idle: deque[Any] = deque()

    def ask(self, *command: Any) -> Any:
        """The reply to a command; an error of the client library if the server refuses it or is not there."""
        try:
            connection = self._idle.pop()
        except IndexError:
            self._lifetime.check()
            connection = self._pool.get_connection()
        try:
            connection.send_packed_command([pack(command)])
            reply = connection.read_response()
        except _Refused:
            self._keep(connection)
            raise
        except BaseException:
            self._drop(connection)  # nobody may read the rest of the reply
            raise
        self._keep(connection)
        return reply

    def _keep(self, connection: Any) -> None:
        if len(self._idle) < self._most:
            self._idle.append(connection)
        else:
            self._pool.release(connection)
        if self._lifetime.over:  # it was closed meanwhile, and left this connection to its user
            self.renew()

    def renew(self) -> None:
        """Close the idle connections: when a server was silent on one, it may be gone for all of them."""
        self.close()
        self._pool.disconnect(inuse_connections=False)

    def close(self) -> None:
        """Give all idle connections back."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # not checked first: other threads take some, or close them, at the same time
                return
            self._drop(connection)

    def _drop(self, connection: Any) -> None:
        connection.disconnect()
        self._pool.release(connection)


class AsyncConnection:
    """The connection that an event loop's async code shares. Each loop has its own."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._pool = client.connection_pool
        self._shared: Any = None
        self._opening = Once(self._open)
        self._alone = not _most(self._pool)

    async def ask(self, *command: Any, at_once: bool = False) -> Any:
        """The reply to a command; an error of the client library if the server refuses it or is not there."""
        if self._alone:
            return await heeding(self._client.execute_command(*command))
        shared = self._shared if self._usable else await self._opened()
        return await shared.ask(pack(command), at_once=at_once)

    async def ready(self) -> bool:
        """Have a connection, so that `asked` can send at once. False if the client has to be asked instead."""
        if self._alone:
            return False
        if not self._usable:
            await self._opened()
        return True

    def asked(self, *command: Any) -> Future[Any]:
        """Send a command now, over the connection that `ready` has made sure of. Returns the reply to come."""
        if self._usable:
            reply: Future[Any] = self._shared.ask(pack(command))
        else:
            reply = get_running_loop().create_future()
            reply.set_exception(ConnectionError("the connection was lost"))
        return reply

    async def ask_all(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Send several commands at once. Returns the replies in order, errors among them."""
        if self._alone:
            return await apiped(self._client, commands)
        shared = self._shared if self._usable else await self._opened()
        asked = [shared.ask(pack(command)) for command in commands]
        try:
            await asked[-1]  # replies come in order, so this is the last one
        except Exception:  # returned below, in its place
            pass
        except BaseException:
            for future in asked:
                future.cancel()  # nobody waits for it any more
            raise
        return [future.exception() or future.result() for future in asked]

    async def renew(self) -> None:
        """See `Connections.renew`."""
        lost = idle(self._pool)
        cut_off(lost)
        for connection in lost:
            await connection.disconnect(nowait=True)

    def hang_up(self) -> None:
        """Disconnect, so that the server drops what it was asked and has not done yet."""
        if self._shared is not None:
            self._shared.close(ConnectionError("closed"))

    @property
    def _usable(self) -> bool:
        shared = self._shared
        return shared is not None and not shared.closed

    async def _opened(self) -> Any:
        await self._opening.done()
        if self._shared is None:  # it was closed before this task had its turn
            raise ConnectionError("closed")
        return self._shared

    async def _open(self) -> None:
        from .shared_connection import SharedConnection

        connection = await self._pool.get_connection()
        try:
            if is_lost(connection):
                await connection.disconnect(nowait=True)
                await connection.connect()
        except BaseException:
            await self._pool.release(connection)
            raise
        gone, self._shared = self._shared, SharedConnection(connection)
        if gone is not None:
            await self._drop(gone)

    async def _drop(self, shared: Any) -> None:
        shared.close(ConnectionError("closed"))
        await shared.connection.disconnect(nowait=True)
        await self._pool.release(shared.connection)

    async def aclose(self) -> None:
        """Hang up, for good."""
        await self._opening.stop()
        if self._shared is not None:
            shared, self._shared = self._shared, None
            await self._drop(shared)
