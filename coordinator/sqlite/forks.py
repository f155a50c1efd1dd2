"""Forks: SQLite must be idle in a process that forks.

SQLite keeps the locks of all its connections in the process's memory. A child that is forked in the middle of a
transaction inherits them as held for ever, and closing an inherited connection would drop the parent's locks. So a fork
waits until no transaction runs, and a child never touches what it inherited.
"""

from __future__ import annotations

import os
import sqlite3
from threading import Lock
from types import TracebackType
from weakref import WeakSet

_ALL: WeakSet[ForkLock] = WeakSet()
_held: list[ForkLock] = []
_inherited: list[sqlite3.Connection] = []


class ForkLock:
    """A lock that no fork of this process happens under."""

    def __init__(self) -> None:
        self._lock = Lock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


def leave_alone(connection: sqlite3.Connection) -> None:
    """Keep a connection inherited by a fork from being closed."""
    _inherited.append(connection)


def _before() -> None:
    for lock in list(_ALL):
        lock.__enter__()
        _held.append(lock)


def _after() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
