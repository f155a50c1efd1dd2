"""How somebody waits for a change on Redis."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from anyio import move_on_after
from redis import exceptions

from ...contracts.names import mint
from ..store import Topic
from .place import Place, connected_by

# An error among them too: a master that is demoted ends its clients' waits with one.
_TROUBLE = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ResponseError, OSError)
_CLOSED_WITHIN = 2.0  # seconds


class RedisWatch:
    """A blocking pop on the queues' wake-ups, or a subscription. A lost connection counts as a wake-up: the caller
    looks at the store, which says what is wrong."""

    def __init__(self, place: Place, prefix: str, topic: Topic) -> None:
        self._place = place
        self._wakes = [f"{prefix}w:{queue}" for queue in topic.queues]
        self._interrupt = f"{prefix}x:{mint('l')}"
        self._channel = f"{prefix}live:{topic.subject or '*'}"
        self._pattern = not topic.subject
        self._client: Any = None
        self._aclient: Any = None
        self._sync: Any = None  # the client itself, or a subscription of it
        self._async: Any = None
        self._line: Any = None  # a connection of `_async`

    def wait(self, timeout: float) -> None:
        try:
            if self._sync is None:
                client = self._client = self._place.client(waits=True)
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
        client = self._aclient = self._place.aclient(waits=True)
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
        a bare connection, kept from wait to wait, because the client does a lot around a call, while a job waits.
        """
        try:
            await self.aopen()
            if self._line is None:
                self._line = await self._async.connection_pool.get_connection()
            connection = self._line
            try:
                wait = ("BLPOP", self._interrupt, *self._wakes, timeout)
                await connection.send_packed_command(connection.pack_commands([wait, command]))
                await connection.read_response()
                return await connection.read_response()
            except BaseException:
                await connection.disconnect(nowait=True)  # nobody must read what is left of the replies
                raise
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
            for each in [self._sync, *connected_by(self._client)]:
                each.close()
            self._sync = self._client = None

    async def aclose(self) -> None:
        if self._async is None:
            return
        ending = [self._async, *connected_by(self._aclient)]
        self._async = self._aclient = self._line = None
        with move_on_after(_CLOSED_WITHIN, shield=True):  # whoever waited may have been cancelled
            for each in ending:
                with suppress(*_TROUBLE):
                    await each.aclose()
