"""How somebody waits for a change of a SQLite file."""

from __future__ import annotations

import sqlite3
import time
from functools import partial

from ..bell import Bell
from .file import open_file
from .handle import Handle
from .troubles import in_our_words
from .waiting import patiently

# Other processes' commits show in `PRAGMA data_version`, a read of a few microseconds.
_POLL = 0.01


class SqliteWatch:
    """Rings with this process's bell at once, and looks for others' commits every 10 ms."""

    def __init__(self, bell: Bell, path: str) -> None:
        self._bell = bell
        self._path = path
        self._seen = bell.rings
        self._handle = Handle(partial(open_file, path))
        self._version: tuple[int, int] = self._data_version()

    def _data_version(self) -> tuple[int, int]:
        """Differs from the last answer if somebody else has committed since, or if the connection is a new one."""
        try:
            with self._handle as connection:
                version: int = patiently(lambda: connection.execute("PRAGMA data_version").fetchone()[0])
                return self._handle.times_opened, version
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error

    def _changed(self, rings: int) -> bool:
        version = self._data_version()
        changed = rings != self._seen or version != self._version
        self._seen, self._version = rings, version
        return changed

    def wait(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if self._changed(self._bell.wait(self._seen, min(left, _POLL))):
                return

    async def await_(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if self._changed(await self._bell.await_(self._seen, min(left, _POLL))):
                return

    async def ainterrupt(self) -> None:
        self._bell.ring()

    async def aopen(self) -> None:
        """Open since it was made."""

    def close(self) -> None:
        self._handle.close()

    async def aclose(self) -> None:
        self._handle.close()
