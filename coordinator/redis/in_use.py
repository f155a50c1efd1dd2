"""InUse: what the tasks of an event loop use at the same time."""

from __future__ import annotations

from asyncio import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import Self

from anyio import CancelScope

from .place import TROUBLE
from .private import CLOSED


class InUse:
    """Use it in a block, `async with`. If it is closed meanwhile, the last block disconnects at its end: the server may
    have carried out what is asked there, so the answer has to arrive."""

    def __init__(self) -> None:
        self.closed = False
        self._blocks = 0

    async def __aenter__(self) -> Self:
        self._blocks += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks -= 1
        if self.closed and not self._blocks:
            with CancelScope(shield=True), suppress(*TROUBLE, *CLOSED):  # the block has its answer
                try:
                    await self.disconnect()
                except CancelledError:  # the loop is ending: it cancels its tasks, once
                    await self.disconnect()
                    raise

    async def aclose(self) -> None:
        """Disconnect, now or when nobody uses it any more."""
        self.closed = True
        if not self._blocks:
            await self.disconnect()

    async def disconnect(self) -> None:
        raise NotImplementedError
