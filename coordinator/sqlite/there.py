"""There: whether the path still leads to the open file.

A store's file may be deleted, or replaced by a backup, while processes have it open. Without this they would go on with
a file that nobody else finds: workers would wait there for ever, and what they acknowledge would be lost with it.
"""

from __future__ import annotations

import os
import time

from ...contracts.errors import Unreachable

_LOOK = 1.0  # seconds between two looks, because each is a system call


class There:
    """`check` before each use of the file, and `forget` when it is closed."""

    def __init__(self, path: str, opened: str | None = None) -> None:
        self._path = path
        self._opened = opened or path  # what is behind links, which may lead elsewhere later
        self._file: tuple[int, int] | None = None
        self._next = 0.0

    def opened(self) -> None:
        """The file was opened."""
        self._file = self._file or _found(self._opened)

    def forget(self) -> None:
        """The file was closed: the next one that is opened may be another file."""
        self._file = None

    def check(self) -> None:
        """`Unreachable` if the path does not lead to the open file."""
        now = time.monotonic()
        if now >= self._next:
            self.look()
            self._next = now + _LOOK

    def look(self) -> None:
        """`check` without delay. Used before the file is opened again, which would make a new one."""
        file = self._file  # another thread may close it meanwhile
        if file is not None and _found(self._path) != file:
            raise Unreachable(
                f"{self._path} was deleted, or another file put in its place, while it was open: what was written "
                "since is in no file that others find. Start again; delete or replace a store when nobody has it open",
                lasting=True,
            )


def _found(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
