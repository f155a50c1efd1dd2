"""Handles: a saver's or memory's handles on its store, one for sync code, and one for each event loop. They open on
first use."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet, finalize

from ...contracts.errors import BadSetup
from ...coordinator.calls import Call, adrive, drive
from ...coordinator.store import Store

T = TypeVar("T")


@dataclass(slots=True)
class _Handle:
    store: Store
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    ending: AsyncGenerator[None] | None = None


_ALL: WeakSet[Handles] = WeakSet()


class Handles:
    """Opened on first use, also after `close`. What an event loop opened is closed when it ends."""

    _forgotten: finalize[..., Handles] | None = None  # closes what sync code opened, if nobody else does

    def __init__(self, store: Store) -> None:
        given: Any = store  # users without a type checker give anything
        if isinstance(given, str):  # it may hold a password, so it is not shown
            raise BadSetup("a text is not a store: for a URL, use .from_url(url)")
        self._given = store
        self.renew()
        _ALL.add(self)

    def renew(self) -> None:
        """Forget what was opened. For the child of a fork, whose parent continues to use it."""
        self._remember()
        self._lock = Lock()
        self._of_loops: dict[asyncio.AbstractEventLoop, _Handle] = {}
        self._of_threads: Store | None = None

    def store(self) -> Store:
        """The handle of sync code, opened."""
        with self._lock:
            if self._of_threads is None:
                store = self._given.sibling()
                store.open()
                self._of_threads = store
                # Before the sockets end on their own: each would give a ResourceWarning.
                self._forgotten = finalize(self, store.close)
                self._forgotten.atexit = False
            return self._of_threads

    async def astore(self) -> Store:
        """The running loop's handle, opened."""
        loop = asyncio.get_running_loop()
        handle = self._of_loops.get(loop) or self._add(loop)
        if handle.ending is None:
            async with handle.lock:
                if handle.ending is None:
                    await handle.store.aopen()
                    ending = self._closing(loop, handle.store)
                    await anext(ending)
                    handle.ending = ending
        return handle.store

    def _add(self, loop: asyncio.AbstractEventLoop) -> _Handle:
        with self._lock:
            for ended in [each for each in self._of_loops if each.is_closed()]:
                del self._of_loops[ended]
            return self._of_loops.setdefault(loop, _Handle(self._given.sibling()))

    async def _closing(self, loop: asyncio.AbstractEventLoop, store: Store) -> AsyncGenerator[None]:
        """Does nothing until it is closed. `asyncio.run` closes the async generators of its loop before the loop, and
        nothing else tells us in time to close a loop's connections."""
        try:
            yield
        finally:
            self._of_loops.pop(loop, None)
            await store.aclose()

    def sibling(self) -> Store:
        """Another handle, not opened."""
        return self._given.sibling()

    def close(self) -> None:
        """Close what sync code opened."""
        with self._lock:
            store, self._of_threads = self._of_threads, None
            self._remember()
        if store is not None:
            store.close()

    def _remember(self) -> None:
        if self._forgotten is not None:
            self._forgotten.detach()
            self._forgotten = None

    async def aclose(self) -> None:
        """Close what this loop and sync code opened."""
        handle = self._of_loops.get(asyncio.get_running_loop())
        if handle is not None and handle.ending is not None:
            await handle.ending.aclose()
        await asyncio.to_thread(self.close)


class Opening:
    """Opens on first use, and closes what was opened."""

    __slots__ = ()

    @property
    def _handles(self) -> Handles:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._handles.store()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._handles.astore()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close what sync code opened. It can be used again."""
        self._handles.close()

    async def aclose(self) -> None:
        """Close what this event loop and sync code opened."""
        await self._handles.aclose()

    def _drive(self, call: Call[T]) -> T:
        return drive(self._handles.store(), call)

    async def _adrive(self, call: Call[T]) -> T:
        return await adrive(await self._handles.astore(), call)


def _renew() -> None:
    for each in list(_ALL):
        each.renew()


os.register_at_fork(after_in_child=_renew)
