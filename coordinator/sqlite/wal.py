"""Wal: keeps the write-ahead log from growing without bound.

SQLite moves its pages into the database after every 1000, but starts the log again from its beginning only in a
moment without readers. Under a steady load there may be none, or a long reader holds it up: then the log grows.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time

_log = logging.getLogger(__name__)
# Bytes. A transaction may need some, and removing and making them again is what a log is kept for.
LARGE = 16 * 1024 * 1024
_AGAIN = 1.0  # seconds between attempts: each holds writers up while it waits
_READERS_LEAVE = 100  # ms that an attempt waits for readers


class WalKeeper:
    """Looks at the log's size after a commit, and empties it when it is large."""

    def __init__(self, path: str) -> None:
        self._wal = f"{path}-wal"
        self._next = 0.0
        self._told = 0

    def look(self, connection: sqlite3.Connection) -> None:
        """Outside of a transaction."""
        size = _size(self._wal)
        if size <= LARGE or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _AGAIN
        if not _emptied(connection) and size > 2 * max(self._told, LARGE):
            self._told = size
            _log.warning(
                "%s has grown to %d MB: a long reader, or writers without a pause, hold it up", self._wal, size >> 20
            )


def _size(path: str) -> int:
    """Without `stat`: a file whose times were asked for gets new ones with its next write (Linux 6.13), and then the
    inode may have to be written when SQLite syncs the log. That made a commit a fifth slower."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return 0
    try:
        return os.lseek(file, 0, os.SEEK_END)
    finally:
        os.close(file)  # SQLite locks this file never, so that no lock of its is lost by that


def _emptied(connection: sqlite3.Connection) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {_READERS_LEAVE}")
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:  # the write that was just committed is safe all the same
        _log.warning("the write-ahead log can't be emptied: %s", error)
        return False
    finally:
        connection.execute("PRAGMA busy_timeout = 0")
    return not busy
