"""Disk: has what was committed reach the disk before it is acknowledged, and many commits with one wait.

With `synchronous=FULL` SQLite waits for the disk while it holds the write lock, so that a file carries one commit for
each wait, whatever number of processes write. With NORMAL it writes the same to the write-ahead log and does not wait:
we do that ourselves, after COMMIT and after the lock was given up, and answer then. Meanwhile others commit, and the
next wait is for all of them. A write that was acknowledged survives a power loss as with FULL:

- A commit is in the log when COMMIT has returned, or in the database already, if the log was emptied since. SQLite
  moves commits there only after it synced the log, and begins the log anew only after it synced the database, with
  NORMAL too (https://www.sqlite.org/wal.html, "Performance Considerations").
- `fdatasync` is about the file, whoever wrote to it: also what others committed before is on the disk then. Each frame
  of the log is verified together with all before it, so that what is recovered is a beginning of what was committed.

The difference: others can read what is committed but not yet acknowledged, and a power loss in these moments (not a
kill) takes that back.
"""

from __future__ import annotations

import os
import sqlite3
from threading import Lock

from ...contracts.errors import Unreachable

# Where there is no `fdatasync` (macOS, Windows) SQLite waits by itself.
SHARED = hasattr(os, "fdatasync")


class Disk:
    """`noted` after each commit, by whoever holds the connection; then `wait`, from any thread, with what it gave."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._pid = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._log: int | None = None
        self._failure: OSError | None = None
        self._unopened: OSError | None = None
        self._committed = 0
        self._kept = 0
        self.waits = 0

    def noted(self, connection: sqlite3.Connection) -> int:
        """A commit was made."""
        if connection is not self._connection:
            self._open(connection)
        self._committed += 1
        return self._committed

    def _open(self, connection: sqlite3.Connection) -> None:
        """The log lives as long as there are connections: another connection may have another one."""
        with self._alone():
            self._let_go()
            try:
                self._log, self._connection = os.open(f"{self._path}-wal", os.O_RDWR), connection
            except OSError as error:  # this process has too many files open, say: the next commit tries again
                self._unopened = error

    def log_size(self) -> int:
        """Bytes of the log, for whoever holds the connection.

        Without `stat`: a file whose times were asked for gets new ones with its next write (Linux 6.13), and then the
        inode may have to be written when the log is synced. That made a commit a fifth slower.
        """
        return os.lseek(self._log, 0, os.SEEK_END) if self._log is not None else 0

    def _alone(self) -> Lock:
        if self._pid != os.getpid():  # a fork: who held the lock is not here
            self._lock, self._pid = Lock(), os.getpid()
        return self._lock

    @property
    def committed(self) -> int:
        """The last commit."""
        return self._committed

    def has(self, commit: int) -> bool:
        """Whether nobody has to wait for that commit."""
        return not SHARED or self._kept >= commit

    def wait(self, commit: int) -> None:
        """Return when that commit is on the disk. `Unreachable` if it may not be: it is there, and may get lost."""
        if self.has(commit):
            return
        with self._alone():
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
        # What a disk has once failed to keep it may not try to keep again: there is no good end after that.
        if self._failure is None and self._log is not None:
            self.waits += 1
            try:
                os.fdatasync(self._log)
            except OSError as error:
                self._failure = error
            else:
                self._kept = committed

    def close(self) -> None:
        """Let go of the log."""
        with self._alone():
            self._let_go()

    def _let_go(self) -> None:
        if self._log is not None:
            if not self.has(self._committed):
                self._keep()  # somebody still waits for it
            os.close(self._log)
            self._log = self._connection = None
