"""QueueWatch: how a worker waits for deliveries on Redis."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from anyio import CancelScope, Lock, sleep
from redis import exceptions

from ...contracts.names import mint
from .connections import AsyncConnection
from .place import TROUBLE, Place, connected_by, end_at_once

# Seconds to pause after trouble, so that a worker that looks and waits in turn does not spin.
_PAUSE = 0.2


class QueueWatch:
    """A blocking pop on the queues' wake-ups. A lost connection counts as one: the worker then looks at the store, and
    gets the error."""

    def __init__(self, place: Place, prefix: str, queues: tuple[str, ...]) -> None:
        self._place = place
        self._wakes = [f"{prefix}w:{queue}" for queue in queues]
        self._interrupt = f"{prefix}x:{mint('l')}"
        self._sync: Any = None
        self._async: Any = None
        self._connection: AsyncConnection | None = None  # of `_async`
        self._interrupting = Lock()
        self._asking: CancelScope | None = None  # around the command that interrupts
        self._next = 0.0  # when `await_reply` may ask again

    def wait(self, timeout: float) -> None:
        try:
            self._sync = self._sync or self._place.client(waits=True)
            self._sync.blpop(self._wakes, timeout=timeout)
        except TROUBLE:
            self.close()
            time.sleep(min(_PAUSE, timeout))

    async def aopen(self) -> None:
        self._async = self._async or self._place.aclient(waits=True)

    async def await_(self, timeout: float) -> None:
        await self.aopen()
        try:
            await self._async.blpop([self._interrupt, *self._wakes], timeout=timeout)
        except TROUBLE:
            await self.aclose()
            await sleep(min(_PAUSE, timeout))

    async def await_reply(self, timeout: float, *command: Any) -> Any:
        """Wait for deliveries, then have a command carried out. Returns its reply, or None if it was not carried out.

        The server gets both commands at once, and goes on with the second when the first is over, without a round trip
        in between. Over a connection of our own, because a job waits, and the client does much else around a call.
        """
        # Not after the trouble: if only the wait was refused, that would hold up what was claimed, or even lose it.
        if (pause := min(self._next - time.monotonic(), timeout)) > 0:
            await sleep(pause)
        await self.aopen()
        connection = self._connection = self._connection or AsyncConnection(self._async)
        try:
            waited, reply = await connection.ask_all(("BLPOP", self._interrupt, *self._wakes, timeout), command)
        except TROUBLE as error:
            waited = reply = error
        except BaseException:
            connection.hang_up()  # nothing may be claimed for a worker that does not wait any more
            raise
        failed = [each for each in (waited, reply) if isinstance(each, Exception)]
        if not all(isinstance(each, exceptions.ResponseError) for each in failed):
            await self.aclose()
        if isinstance(waited, Exception):
            self._next = time.monotonic() + _PAUSE
        return None if isinstance(reply, Exception) else reply  # if only the wait was refused, what it claimed counts

    async def ainterrupt(self) -> None:
        """Wake only this wait, over another connection of its client."""
        async with self._interrupting:
            if self._async is None:
                return
            with CancelScope() as self._asking, suppress(*TROUBLE):
                async with self._async.pipeline(transaction=True) as pipe:
                    pipe.rpush(self._interrupt, 1)
                    pipe.pexpire(self._interrupt, 10_000)  # nobody may have been waiting
                    await pipe.execute()

    def close(self) -> None:
        client, self._sync = self._sync, None
        for each in connected_by(client) if client is not None else ():
            each.close()

    async def aclose(self) -> None:
        if self._async is None:
            return
        ending, connection = connected_by(self._async), self._connection
        self._async = self._connection = None
        if self._asking is not None:
            self._asking.cancel()  # the client trips over a connection that is closed while it is opened
        with CancelScope(shield=True):  # the caller may have been cancelled
            async with self._interrupting:
                if connection is not None:
                    await connection.aclose()
                for each in ending:
                    with suppress(*TROUBLE):
                        await end_at_once(each)
