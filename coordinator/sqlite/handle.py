"""Handle: a connection that is never inherited by a fork of this process.

SQLite keeps the locks of all its connections in the process's memory. A child that inherits them believes that it holds
what only its parent holds. Then the parent's last `close` would remove the write-ahead log that the child uses, and
what the child commits after that is lost. So a fork waits until no transaction runs, and closes all connections first.
Both sides open them again when they need them.
"""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from types import TracebackType
from weakref import WeakSet

_ALL: WeakSet[Handle] = WeakSet()
_forking = Lock()  # keeps two threads from forking at once, and handles from being made during a fork
_held: list[Handle] = []
_collecting: list[None] = []  # whether garbage was collected before the fork


class Handle:
    """`with handle as connection`: one user at a time. Opens on first use, and again after `close`."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self.times_opened = 0
        with _forking:
            _ALL.add(self)

    def __enter__(self) -> sqlite3.Connection:
        self._lock.acquire()
        try:
            if self._connection is None:
                self._connection = self._connect()
                self.times_opened += 1
        except BaseException:
            self._lock.release()
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def close(self, first: Callable[[], None] | None = None) -> None:
        """Close the connection, if there is one, and before it what its users share, while none of them is there."""
        with self._lock:
            if first is not None:
                first()
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # closing only tidies up, and what was committed is safe without that
                connection.close()

    def hold(self) -> None:
        """Before a fork: wait for the user, close, and keep new users out."""
        self._lock.acquire()
        self._drop()

    def let_go(self) -> None:
        """After a fork, on both sides."""
        self._lock.release()


def _before() -> None:
    _forking.acquire()
    if gc.isenabled():  # what it frees may close a handle that is held here
        gc.disable()
        _collecting.append(None)
    for handle in list(_ALL):
        handle.hold()
        _held.append(handle)


def _after() -> None:
    while _held:
        _held.pop().let_go()
    while _collecting:
        _collecting.pop()
        gc.enable()
    _forking.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
