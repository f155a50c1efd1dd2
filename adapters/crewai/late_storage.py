"""Late storage: the storage of CrewAI's own memory, opened on first use.

CrewAI gives every flow a memory, and opens its storage (LanceDB) at once. That is seconds of imports in each new child,
which most flows don't need. A worker can't import it before it forks, because the import starts a thread, and LanceDB's
own support for forks is experimental.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from crewai.memory.storage.factory import set_memory_storage_factory

from . import internals

_BUILT_IN = "lancedb"


def open_late() -> None:
    """From now on, memories open CrewAI's storage on first use. A factory that the user has set comes first."""
    chosen = internals.storage_factory()
    if not isinstance(chosen, _Late):
        set_memory_storage_factory(_Late(chosen))


class _Late:
    """Makes the storage of a memory. None leaves it to CrewAI."""

    def __init__(self, chosen: Callable[[str], Any] | None) -> None:
        self._chosen = chosen

    def __call__(self, spec: str) -> Any:
        own = self._chosen(spec) if self._chosen is not None else None
        return LateStorage() if own is None and spec == _BUILT_IN else own


class LateStorage:
    """A storage that is opened by its first call."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._opened: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # `copy` looks for these
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
