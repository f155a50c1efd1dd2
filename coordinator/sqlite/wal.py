"""Wal: keeps the write-ahead log from growing without limit.

SQLite itself moves pages to the database after every 1000, but begins the log again only in a moment when all are moved
and nobody reads. With several writers there may be no such moment for long. Then SQLite tries after each commit, and
the log grows, which is twice as slow as overwriting it. So we move pages, after a number of our commits, and if that
was not enough, make the others wait for such a moment. A long-running reader prevents that, too.

Emptying the log takes room in the database for its contents, so on a small disk it must not outgrow what is left there.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time

from .disk import Disk

_log = logging.getLogger("batonpass.store")
# Bytes that a log may keep: a transaction needs some, and truncating and growing it again is what we want to avoid.
LARGE = 32 * 1024 * 1024
# Up to this size (bytes) it may be larger than what is left on the disk.
_SMALL = 1024 * 1024
# After so many commits, pages are moved. With more pages than the second, the log was evidently not begun again.
_COMMITS, _MANY = 128, 6000
_AGAIN = 1.0  # seconds between attempts, because writers have to wait during one
_READERS_LEAVE = 100  # for how many ms an attempt waits for readers


# Seconds until trouble is told again, doubled each time up to the second number: it lasts as long as a full disk does,
# and logs may be on that disk.
_TOLD_AGAIN, _SELDOM = 30.0, 3600.0


class _Complaint:
    """What goes wrong at each attempt: told once, then less and less often, and when it is over."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._told, self._pause = 0.0, 0.0

    def met(self, error: Exception) -> None:
        """It went wrong."""
        now = time.monotonic()
        if not self._pause or now - self._told >= self._pause:
            self._told, self._pause = now, min(max(2 * self._pause, _TOLD_AGAIN), _SELDOM)
            _log.warning("%s: %s", self._what, error)

    def over(self) -> None:
        """It went well."""
        if self._pause:
            self._pause = 0.0
            _log.info("%s: that is over", self._what)


class WalKeeper:
    """Looks at the log's size after a commit, and empties a large log."""

    def __init__(self, path: str, disk: Disk) -> None:
        self._wal = f"{path}-wal"
        self._disk = disk
        self._next = 0.0
        self._told = 0
        self._commits = 0
        self._fits = 0
        self._moving = _Complaint("the write-ahead log's pages can't be moved")
        self._emptying = _Complaint("the write-ahead log can't be emptied")

    def look(self, connection: sqlite3.Connection) -> None:
        """Called outside of transactions."""
        self._commits += 1
        if self._commits % _COMMITS == 0:
            self._move(connection)
            self._fits = 0
        size = self._disk.log_size()
        if not self._too_large(size) or time.monotonic() < self._next or self._emptied(connection):
            return
        self._next = time.monotonic() + _AGAIN
        if size > 2 * max(self._told, LARGE):
            self._told = size
            _log.warning(
                "%s has grown to %d MB: a long reader or pauseless writers block its cleanup",
                self._wal,
                size >> 20,
            )

    def _move(self, connection: sqlite3.Connection) -> None:
        try:
            pages: int = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        except sqlite3.Error as error:
            self._moving.met(error)
            return
        self._moving.over()
        if pages > _MANY:
            self._emptied(connection, "RESTART")

    def _emptied(self, connection: sqlite3.Connection, how: str = "TRUNCATE") -> bool:
        connection.execute(f"PRAGMA busy_timeout = {_READERS_LEAVE}")
        try:
            busy: int = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchone()[0]
        except sqlite3.Error as error:  # the write that was just committed is safe anyway
            self._emptying.met(error)
            return False
        finally:
            connection.execute("PRAGMA busy_timeout = 0")
        self._emptying.over()
        return not busy

    def _too_large(self, size: int) -> bool:
        if size <= _SMALL or size == self._fits:  # usually neither the log nor the disk has changed
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
