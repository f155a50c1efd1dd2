"""Late storage: that of CrewAI's own memory, opened when it is used first.

CrewAI gives every flow a memory and opens its storage for that, LanceDB: seconds of imports in each new child, for most
flows in vain. It can't be imported ahead, because it starts a thread then and its own fork support is experimental.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from crewai.memory.storage.factory import set_memory_storage_factory

from . import internals

_BUILT_IN = "lancedb"


def open_late() -> None:
    """Have the memories that are made from now on open CrewAI's storage when they are used first. A factory that the
    user has set goes before."""
    chosen = internals.storage_factory()
    if not isinstance(chosen, _Late):
        set_memory_storage_factory(_Late(chosen))


class _Late:
    """Chooses the storage of a memory; None leaves it to CrewAI."""

    def __init__(self, chosen: Callable[[str], Any] | None) -> None:
        self._chosen = chosen

    def __call__(self, spec: str) -> Any:
        own = self._chosen(spec) if self._chosen is not None else None
        return LateStorage() if own is None and spec == _BUILT_IN else own


class LateStorage:
    """A storage that is opened by the first call of it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying looks for
            raise AttributeError(name)
        with self._lock:
            if self._opened is None:
                from crewai.memory.storage.lancedb_storage import LanceDBStorage

                self._opened = LanceDBStorage()
        return getattr(self._opened, name)

    def close(self) -> None:
        """Close what was opened."""
        close = getattr(self._opened, "close", None)
        if close is not None:
            close()
