"""Consumer: one member of a group that shares events."""

from __future__ import annotations

import time
from types import TracebackType

from anyio import CancelScope, sleep

from ..contracts.errors import Unavailable
from ..contracts.event import Event
from .calls import adrive, drive
from .calls.events import Patience
from .calls.groups import Work
from .lifetime import Closed
from .store import Store, Topic

# Seconds between two looks for events, in case that nobody woke the consumer.
_LOOK = 1.0


class _Member:
    def __init__(self, store: Store, work: Work) -> None:
        self._store = store
        self._work = work
        self._watch = store.watch(Topic())
        self._patience = Patience()


class Consumer(_Member):
    """Yields events one by one, for ever.

    An event is done when you ask for the next one, or call `ack`. If you leave the block before that, the last event is
    delivered again, at once, to another consumer of the group. Use `async with`: without it, the consumer's events are
    delivered again only when its lease has expired.
    """

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> Event:
        await self._watch.aopen()
        while True:
            try:
                event = await adrive(self._store, self._work.next())
            except Unavailable as error:
                await sleep(self._patience.pause(error))
                continue
            self._patience.over()
            if event:
                return event
            await self._watch.await_(_LOOK)
            await sleep(self._patience.rest())

    async def ack(self) -> None:
        """Mark the last event as done, so that it is not delivered again."""
        await adrive(self._store, self._work.ack())

    async def keep(self) -> None:
        """Renew the lease, if your work on one event takes longer than that."""
        await adrive(self._store, self._work.keep())

    async def aclose(self) -> None:
        """Give back the events that are not done."""
        with CancelScope(shield=True):
            try:
                await adrive(self._store, self._work.give_back())
            except Closed:
                pass  # they come again when the lease is over
            except Unavailable as error:
                self._patience.pause(error)
            finally:
                await self._watch.aclose()

    async def __aenter__(self) -> Consumer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class SyncConsumer(_Member):
    """`Consumer` for sync code: `with` and `for`."""

    def __iter__(self) -> SyncConsumer:
        return self

    def __next__(self) -> Event:
        while True:
            try:
                event = drive(self._store, self._work.next())
            except Unavailable as error:
                time.sleep(self._patience.pause(error))
                continue
            self._patience.over()
            if event:
                return event
            self._watch.wait(_LOOK)
            time.sleep(self._patience.rest())

    def ack(self) -> None:
        """Mark the last event as done, so that it is not delivered again."""
        drive(self._store, self._work.ack())

    def keep(self) -> None:
        """Renew the lease, if your work on one event takes longer than that."""
        drive(self._store, self._work.keep())

    def close(self) -> None:
        """Give back the events that are not done."""
        try:
            drive(self._store, self._work.give_back())
        except Closed:
            pass
        except Unavailable as error:
            self._patience.pause(error)
        finally:
            self._watch.close()

    def __enter__(self) -> SyncConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
