"""How somebody waits for a change on Redis."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import redis
import redis.asyncio
from anyio import move_on_after
from redis import exceptions

from ...contracts.names import mint
from ..store import Topic

# The client library is typed in part only.
_Sync: Any = redis.Redis
_Async: Any = redis.asyncio.Redis
_TROUBLE = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)


class RedisWatch:
    """A blocking pop on the queues' wake-ups, or a subscription. A lost connection counts as a wake-up: the caller
    looks at the store, which says what is wrong."""

    def __init__(self, client_url: str, prefix: str, topic: Topic) -> None:
        self._url = client_url
        self._wakes = [f"{prefix}w:{queue}" for queue in topic.queues]
        self._interrupt = f"{prefix}x:{mint('l')}"
        self._channel = f"{prefix}live:{topic.subject or '*'}"
        self._pattern = not topic.subject
        self._sync: Any = None
        self._async: Any = None

    # A wait is a blocking call of our own length: the client's own time-out (5 s by default) must not cut it.

    def wait(self, timeout: float) -> None:
        try:
            if self._sync is None:
                client: Any = _Sync.from_url(self._url, socket_timeout=None)
                self._sync = client if self._wakes else client.pubsub(ignore_subscribe_messages=True)
                if not self._wakes:
                    (self._sync.psubscribe if self._pattern else self._sync.subscribe)(self._channel)
                    return  # a change between the look before and this subscription is seen by looking again
            if self._wakes:
                self._sync.blpop(self._wakes, timeout=timeout)
            else:
                self._sync.get_message(timeout=timeout)
        except _TROUBLE:
            self.close()

    async def aopen(self) -> None:
        if self._async is not None:
            return
        client: Any = _Async.from_url(self._url, socket_timeout=None)
        self._async = client if self._wakes else client.pubsub(ignore_subscribe_messages=True)
        if not self._wakes:
            try:
                await (self._async.psubscribe if self._pattern else self._async.subscribe)(self._channel)
            except _TROUBLE:
                await self.aclose()

    async def await_(self, timeout: float) -> None:
        try:
            if self._async is None:
                await self.aopen()
                return
            if self._wakes:
                await self._async.blpop([self._interrupt, *self._wakes], timeout=timeout)
            else:
                with move_on_after(timeout):
                    while await self._async.get_message(timeout=None) is None:
                        pass
        except _TROUBLE:
            await self.aclose()

    async def await_reply(self, timeout: float, *command: Any) -> Any:
        """Wait for deliveries, then have a command carried out; its reply, None if it was not.

        The server gets both at once and goes on with the second when the first is over: no round trip in between. On
        a bare connection, because the client's pipeline does a lot after the replies, while a job waits.
        """
        try:
            await self.aopen()
            pool = self._async.connection_pool
            connection = await pool.get_connection()
            try:
                wait = ("BLPOP", self._interrupt, *self._wakes, timeout)
                await connection.send_packed_command(connection.pack_commands([wait, command]))
                await connection.read_response()
                return await connection.read_response()
            except BaseException:
                await connection.disconnect(nowait=True)  # nobody must read what is left of the replies
                raise
            finally:
                await pool.release(connection)
        except exceptions.ResponseError:
            return None
        except _TROUBLE:
            await self.aclose()
            return None

    async def ainterrupt(self) -> None:
        """Wake this wait alone, from another connection of its client."""
        if self._async is None or not self._wakes:
            return
        with suppress(*_TROUBLE):
            async with self._async.pipeline(transaction=True) as pipe:
                pipe.rpush(self._interrupt, 1)
                pipe.pexpire(self._interrupt, 10_000)  # in case that nobody was waiting
                await pipe.execute()

    def close(self) -> None:
        if self._sync is not None:
            self._sync.close()
            self._sync = None

    async def aclose(self) -> None:
        if self._async is not None:
            await self._async.aclose()
            self._async = None
