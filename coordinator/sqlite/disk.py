"""Disk: syncs commits to the disk before they are acknowledged, many with one sync.

With `synchronous=FULL` SQLite syncs while it holds the write lock, so that there is one sync for each commit, however
many processes write. With NORMAL it writes the same to the write-ahead log, but does not sync. We do that ourselves,
after COMMIT and after the lock was released, and only then acknowledge. Meanwhile others commit, and the next sync is
for all of them. A write that was acknowledged survives a power loss as with FULL:

- After COMMIT has returned, a commit is in the log, or already in the database if the log was emptied since. SQLite
  moves commits there only after it has synced the log, and begins the log anew only after it has synced the database,
  with NORMAL, too (https://www.sqlite.org/wal.html, "Performance Considerations").
- `fdatasync` works on the file, whoever wrote to it, so earlier commits of others are on the disk then, too. Each frame
  of the log is verified together with all before it, so what is recovered is always a prefix of what was committed.

The difference: others can read what is committed but not acknowledged yet, and a power loss (not a kill) in that moment
takes it back.
"""

from __future__ import annotations

import os
import sqlite3
from threading import Lock
from weakref import finalize

from ...contracts.errors import Unreachable
from ..forks import tell_of_forks

# Without `fdatasync` (macOS, Windows) SQLite syncs by itself.
SHARED = hasattr(os, "fdatasync")


class Disk:
    """The holder of the connection calls `noted` after each commit, and `log_size` and `close`. Any thread passes what
    `noted` returned to `wait`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._log: int | None = None
        self._closes: finalize[..., Disk] | None = None  # if nobody closes it
        self._failure: OSError | None = None
        self._unopened: OSError | None = None
        self._committed = 0
        self._kept = 0
        self.waits = 0
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the thread that held the lock does not exist here."""
        self._lock = Lock()

    def noted(self, connection: sqlite3.Connection) -> int:
        """A commit was made."""
        if connection is not self._connection:
            self._open(connection)
        self._committed += 1
        return self._committed

    def _open(self, connection: sqlite3.Connection) -> None:
        """Open the log. It exists as long as there are connections, so a later connection may have a new log."""
        with self._lock:
            self._let_go()
            try:
                self._log, self._connection = os.open(f"{self._path}-wal", os.O_RDWR), connection
            except OSError as error:  # too many open files, for example: the next commit tries again
                self._unopened = error
            else:
                self._closes = finalize(self, os.close, self._log)
                self._closes.atexit = False

    def log_size(self) -> int:
        """The size of the log in bytes.

        Not by `stat`: a file whose times were read gets new ones with its next write (Linux 6.13), and then the inode
        may have to be written, too, when the log is synced. That made a commit a fifth slower.
        """
        return os.lseek(self._log, 0, os.SEEK_END) if self._log is not None else 0

    @property
    def committed(self) -> int:
        """The last commit."""
        return self._committed

    def has(self, commit: int) -> bool:
        """Whether nobody has to wait for that commit."""
        return not SHARED or self._kept >= commit

    def wait(self, commit: int) -> None:
        """Return when that commit is on the disk. `Unreachable` if it may not be: it can be read, but may get lost."""
        if self.has(commit):
            return
        with self._lock:
            if self._kept < commit:
                self._keep()
            if self._kept < commit:
                raise self._lost()

    def _lost(self) -> Unreachable:
        if self._failure is None:
            return Unreachable(
                f"the log of {self._path} can't be opened ({self._unopened}), and what was written may get lost: do "
                "the same again"
            )
        return Unreachable(
            f"the disk of {self._path} failed ({self._failure}), and what was written may get lost: look at its space "
            "and health, then start again"
        )

    def _keep(self) -> None:
        committed = self._committed
        # After a failed sync the kernel may not write the same data again, so another sync would prove nothing.
        if self._failure is None and self._log is not None:
            self.waits += 1
            try:
                os.fdatasync(self._log)
            except OSError as error:
                self._failure = error
            else:
                self._kept = committed

    def close(self) -> None:
        """Close the log. Others may still wait for what was committed: it is synced first."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._log is not None:
            if not self.has(self._committed):
                self._keep()  # somebody is still waiting for it
            assert self._closes is not None
            self._closes()
            self._log = self._connection = None
