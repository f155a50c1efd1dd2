"""PubSubWatch: how clients wait for events on Redis."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
from redis.exceptions import NoPermissionError

from ..loops import PerLoop
from .channels import Channels
from .place import TROUBLE, connected_by
from .subscription import Subscription

# Seconds to pause after trouble, so that a client that looks and waits in turn does not spin.
_PAUSE = 0.2


class PubSubWatch:
    """In sync code, a subscription of its own, over a client that `find` gives. Tasks share that of their loop. A lost
    connection counts as a wake-up: the caller then looks at the store, and gets the error."""

    def __init__(
        self, channel: str, channels: Channels, find: Callable[[], Any], shared: PerLoop[Subscription]
    ) -> None:
        self._channel = channel
        self._channels = channels
        self._asked = ""
        self._find = find
        self._shared = shared
        self._client: Any = None
        self._pubsub: Any = None
        self._subscription: Subscription | None = None
        self._woken = asyncio.Event()

    def wait(self, timeout: float) -> None:
        try:
            if self._pubsub is None:
                self._subscribe()
                return  # the caller has to look again, because there may have been news before the subscription
            if self._heard(timeout):
                while self._pubsub.get_message(timeout=0):
                    pass  # a woken caller looks at everything, so what came so far must not wake it again
        except TROUBLE as error:
            if isinstance(error, NoPermissionError):
                self._channels.refused(self._asked)
            self.close()
            time.sleep(min(_PAUSE, timeout))

    def _subscribe(self) -> None:
        self._client = self._find()
        self._pubsub = self._client.pubsub(ignore_subscribe_messages=True)
        kind, self._asked = self._channels.asked(self._channel)
        (self._pubsub.psubscribe if kind else self._pubsub.subscribe)(self._asked)

    def _heard(self, timeout: float) -> bool:
        ends = time.monotonic() + timeout
        while said := self._pubsub.get_message(timeout=max(0.0, ends - time.monotonic())):
            if self._channels.heard(said["channel"].decode(), by_pattern=said["type"] == "pmessage"):
                return True
            if time.monotonic() > ends:  # other namespaces' news don't end
                break
        return False

    async def aopen(self) -> None:
        with suppress(*TROUBLE):
            await self._join()

    async def _join(self) -> None:
        self._subscription = self._shared.here()
        await self._subscription.join(self._channel, self._woken)

    async def await_(self, timeout: float) -> None:
        if self._subscription is None or not self._subscription.has(self._channel, self._woken):
            try:
                await self._join()
            except TROUBLE:
                await anyio.sleep(min(_PAUSE, timeout))
            return
        with anyio.move_on_after(timeout):
            await self._woken.wait()
        self._woken.clear()

    async def ainterrupt(self) -> None:
        """Nobody interrupts these waits."""

    def close(self) -> None:
        client, pubsub = self._client, self._pubsub
        self._client = self._pubsub = None
        if client is not None:
            for each in [pubsub, *connected_by(client)]:
                if each is not None:
                    each.close()

    async def aclose(self) -> None:
        if self._subscription is not None:
            self._subscription.leave(self._channel, self._woken)
