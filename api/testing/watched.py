"""WatchedStore: a store that reports what a job's worker writes, which are the moments when a crash matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store

R = TypeVar("R")
Told: TypeAlias = Callable[[c.Command[Any]], None]
_WRITES = (c.Save, c.Record, c.HandOff, c.Spawn, c.Complete, c.Suspend, c.Sleep, c.Fail)


class WatchedStore:
    """A store that calls `before` and `after` around each write under a lease."""

    def __init__(self, store: Store, before: Told, after: Told | None = None) -> None:
        self._store = store
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def call(self, command: c.Command[R]) -> R:
        """Carry a command out."""
        self._tell(self._before, command)
        answer = self._store.call(command)
        self._tell(self._after, command)
        return answer

    async def acall(self, command: c.Command[R]) -> R:
        """`call` for async code."""
        self._tell(self._before, command)
        answer = await self._store.acall(command)
        self._tell(self._after, command)
        return answer

    def _tell(self, told: Told | None, command: c.Command[Any]) -> None:
        if told is not None and isinstance(command, _WRITES):
            told(command)
