"""Wal: keeps the write-ahead log from growing without bound.

SQLite moves its pages into the database after every 1000 by itself, but starts the log again from its beginning only in
a moment when all were moved and nobody reads. While several write there may be none for long: then it tries after each
commit, and the log grows, which takes a disk twice as long as writing over what is there. So we do it, after so many
commits of ours, and make the others wait for a moment when that was not enough. A long reader holds that up, too.

To be emptied it needs room in the database for what is in it. So it may not grow beyond what is left on a small disk.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time

from .disk import Disk

_log = logging.getLogger(__name__)
# Bytes. A transaction may need some, and removing and making them again is what a log is kept for.
LARGE = 32 * 1024 * 1024
# ... up to which it may be larger than what is left on its disk.
_SMALL = 1024 * 1024
# Commits after which pages are moved, and pages that then are too many for a log that was started again.
_COMMITS, _MANY = 128, 3000
_AGAIN = 1.0  # seconds between attempts: each holds writers up while it waits
_READERS_LEAVE = 100  # ms that an attempt waits for readers


class WalKeeper:
    """Looks at the log's size after a commit, and empties it when it is large."""

    def __init__(self, path: str, disk: Disk) -> None:
        self._wal = f"{path}-wal"
        self._disk = disk
        self._next = 0.0
        self._told = 0
        self._commits = 0
        self._fits = 0

    def look(self, connection: sqlite3.Connection) -> None:
        """Outside of a transaction."""
        self._commits += 1
        if self._commits % _COMMITS == 0:
            _move(connection)
            self._fits = 0
        size = self._disk.log_size()
        if not self._too_large(size) or time.monotonic() < self._next or _emptied(connection):
            return
        self._next = time.monotonic() + _AGAIN
        if size > 2 * max(self._told, LARGE):
            self._told = size
            _log.warning(
                "%s has grown to %d MB: a long reader or pauseless writers block its cleanup",
                self._wal,
                size >> 20,
            )

    def _too_large(self, size: int) -> bool:
        if size <= _SMALL or size == self._fits:  # most logs stay as large as they are, and so does what is left
            return False
        if size > LARGE or size > _left(self._wal):
            return True
        self._fits = size
        return False


def _left(path: str) -> int:
    try:
        return shutil.disk_usage(os.path.dirname(path) or ".").free
    except OSError:
        return LARGE


def _move(connection: sqlite3.Connection) -> None:
    try:
        pages: int = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
    except sqlite3.Error as error:
        _log.warning("the write-ahead log's pages can't be moved: %s", error)
    else:
        if pages > _MANY:
            _emptied(connection, "RESTART")


def _emptied(connection: sqlite3.Connection, how: str = "TRUNCATE") -> bool:
    connection.execute(f"PRAGMA busy_timeout = {_READERS_LEAVE}")
    try:
        busy: int = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()[0]
    except sqlite3.Error as error:  # the write that was just committed is safe all the same
        _log.warning("the write-ahead log can't be emptied: %s", error)
        return False
    finally:
        connection.execute("PRAGMA busy_timeout = 0")
    return not busy
