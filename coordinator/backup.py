"""Backup: a copy of a whole store, where the store can make one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from ..contracts.errors import BadSetup
from .coded.store import uncoded
from .store import Store

Progress = Callable[[int, int], None]  # told bytes copied and bytes in all, now and then


@runtime_checkable
class BacksUp(Protocol):
    """A store that copies itself to a new file while others write."""

    def backup(self, path: str, progress: Progress | None = None) -> None: ...


def back_up(store: Store, path: str | os.PathLike[str], progress: Progress | None) -> None:
    """Copy the store to a new file. For a store that can't do that, `BadSetup` says how to back it up."""
    given: Any = path  # users without a type checker give anything
    if not isinstance(given, str | os.PathLike):
        raise BadSetup(f"{path!r} is not the path of a file to write")
    store = uncoded(store)  # the contents are copied as they are, encrypted or not
    if isinstance(store, BacksUp):
        store.backup(os.fspath(path), progress)
    elif store.url.startswith("memory:"):
        raise BadSetup(f"{store.url} exists only in this process: there is nothing to back up")
    else:
        raise BadSetup(
            f"{store.url} is backed up by its server: `redis-cli -u URL --rdb FILE` copies it while it runs, "
            "or copy the server's own dump.rdb and appendonlydir"
        )
