"""How somebody waits for a change on Redis."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from anyio import CancelScope, Lock, move_on_after
from redis import exceptions

from ...contracts.names import mint
from ..store import Topic
from .cancels import heeding
from .lines import AsyncLines
from .place import TROUBLE, Place, connected_by

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
        self._alines: AsyncLines | None = None  # of `_async`
        self._interrupting = Lock()
        self._asking: CancelScope | None = None  # what interrupts

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
            elif self._sync.get_message(timeout=timeout):
                while self._sync.get_message(timeout=0):
                    pass  # who is woken looks at all that is there: what came so far must not wake it again
        except TROUBLE:
            self.close()

    async def aopen(self) -> None:
        if self._async is not None:
            return
        client = self._aclient = self._place.aclient(waits=True)
        self._async = client if self._wakes else client.pubsub(ignore_subscribe_messages=True)
        if not self._wakes:
            try:
                await heeding((self._async.psubscribe if self._pattern else self._async.subscribe)(self._channel))
            except TROUBLE:
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
                while await self._async.get_message(timeout=0):
                    pass  # what came so far must not wake it again
        except TROUBLE:
            await self.aclose()

    async def await_reply(self, timeout: float, *command: Any) -> Any:
        """Wait for deliveries, then have a command carried out; its reply, None if it was not.

        The server gets both at once and goes on with the second when the first is over: no round trip in between. On
        a line, because the client does a lot around a call, while a job waits.
        """
        await self.aopen()
        lines = self._alines = self._alines or AsyncLines(self._async)
        try:
            waited, reply = await lines.ask_all(("BLPOP", self._interrupt, *self._wakes, timeout), command)
        except TROUBLE:
            waited = reply = None
            await self.aclose()
        except BaseException:
            lines.hang_up()  # what nobody waits for must not be claimed
            raise
        if not isinstance(waited, Exception) and not isinstance(reply, Exception):
            return reply
        if not isinstance(waited, exceptions.ResponseError) and not isinstance(reply, exceptions.ResponseError):
            await self.aclose()
        return None

    async def ainterrupt(self) -> None:
        """Wake this wait alone, from another connection of its client."""
        async with self._interrupting:
            if self._async is None or not self._wakes:
                return
            with CancelScope() as self._asking, suppress(*TROUBLE):
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
        ending, lines = [self._async, *connected_by(self._aclient)], self._alines
        self._async = self._aclient = self._alines = None
        if self._asking is not None:
            self._asking.cancel()  # a connection that is closed while it opens trips its client up
        with move_on_after(_CLOSED_WITHIN, shield=True):  # whoever waited may have been cancelled
            async with self._interrupting:
                if lines is not None:
                    await lines.aclose()
                for each in ending:
                    with suppress(*TROUBLE):
                        await each.aclose()
