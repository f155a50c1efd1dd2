"""DoorWatch: how a worker waits for deliveries on a cluster."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import anyio
from redis.exceptions import TimeoutError

from ...contracts.names import mint
from .cluster_link import ASYNC_TROUBLE, TROUBLE, ClusterLink
from .partitions_plan import Ring
from .scripts import script

# Seconds. A wait is split into pieces that end before the client's own timeout, and so notice a dead node.
_PIECE = 2.0
# Seconds to pause after trouble, so that a worker that looks and waits in turn does not spin.
_PAUSE = 0.2
# When its node gave no answer: for how long not to wait there again, and how long to wait instead.
_SILENT, _WITHOUT = 10.0, 0.5
# For how many ms an interruption is kept.
_KEPT = 10_000


class DoorWatch:
    """A blocking pop at the doors of queues. All workers wait in partition 0, with one connection each, wherever the
    deliveries are, so that one delivery wakes one worker. A woken worker claims where the ring said."""

    def __init__(self, link: ClusterLink, prefix: str, queues: tuple[str, ...]) -> None:
        self._link = link
        self._doors = {f"{prefix}d:{queue}": queue for queue in queues}
        self._prefix, self._own = prefix, mint("l")
        self._interrupt = f"{prefix}d:{self._own}"  # a door of its own
        self._knock: Ring | None = None
        self._silent_until = 0.0

    def take(self) -> Ring | None:
        """The ring that ended the last wait, once."""
        knock, self._knock = self._knock, None
        return knock

    def wait(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            try:
                if self._heard(self._link.client.execute_command(*self._asked(left))):
                    return
            except TROUBLE:
                time.sleep(min(_PAUSE, left))
                return

    async def await_(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            try:
                if time.monotonic() < self._silent_until:
                    await anyio.sleep(min(_WITHOUT, left))
                    return
                if self._heard(await self._link.directly(self._link.here().client, self._interrupt, self._asked(left))):
                    return
            except ASYNC_TROUBLE as error:
                if isinstance(error, TimeoutError):
                    self._silent_until = time.monotonic() + _SILENT
                await anyio.sleep(min(_PAUSE, left))
                return

    def _asked(self, left: float) -> tuple[Any, ...]:
        return "BZPOPMAX", self._interrupt, *self._doors, max(min(left, _PIECE), 0.001)

    def _heard(self, reply: Any) -> bool:
        if reply is None:
            return False
        door, partition, number = reply
        queue = self._doors.get(door.decode())
        self._knock = Ring(queue, int(partition), int(float(number))) if queue else None
        return True

    async def ainterrupt(self) -> None:
        """Wake only this wait. In one step, because nobody may be waiting, and the key must not stay."""
        ring = script("store/ring").source
        with suppress(*ASYNC_TROUBLE):
            await self._link.here().client.execute_command("EVAL", ring, 1, self._prefix, self._own, 0, 1, _KEPT)

    async def aopen(self) -> None:
        """Nothing to open: rings are kept for a moment."""

    def close(self) -> None:
        """Nothing to close: the connections are the store's."""

    async def aclose(self) -> None:
        """Nothing to close: the connections are the store's."""
