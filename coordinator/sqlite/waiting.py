"""Waiting for other connections to the file. SQLite has one writer at a time, and in some moments no reader."""

from __future__ import annotations

import math
import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
BUSY_DEADLINE = 30.0  # seconds until `Overloaded`
# A save holds the file for about 0.1 ms, so a much longer sleep leaves it idle. But if it is taken several times in a
# row, there are many waiters, and each look takes CPU time from the holder. So pauses grow fast.
_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE = 0.00005, 3, 0.006
_TURN, _BREAK = 0.02, 0.01  # seconds of cleaning up at a stretch, and of leaving the file to others after that


def patiently(act: Callable[[], R], patience: float = math.inf) -> R:
    """What `act` returns, as soon as the file is not busy. Raises SQLite's error after `BUSY_DEADLINE`, or `patience`
    if that is less.

    With jitter. SQLite's own waiting backs off to 100 ms, starves writers for seconds, and does not help those who
    switch a new file to WAL at the same time. Readers may have to wait, too: for the very first and last connections,
    which recover and remove the write-ahead log.
    """
    deadline = time.monotonic() + min(BUSY_DEADLINE, patience)
    pause = _FIRST_PAUSE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        except UnicodeDecodeError as error:  # Python's, when SQLite's own message quotes damaged bytes
            damage = sqlite3.DatabaseError(f"a text in it is not UTF-8: {error.object!r}")
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage from None
        time.sleep(random.uniform(0, pause))
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)


class Courtesy:
    """Makes clean-ups pause. They are many writes in a row, and others who wait look so seldom that they would rarely
    find the file free."""

    def __init__(self) -> None:
        self._since_pause = 0.0

    def pause(self, began: float) -> float:
        """For how many seconds to leave the file to others after a write of a clean-up that began at that time."""
        self._since_pause += time.monotonic() - began
        if self._since_pause < _TURN:
            return 0.0
        self._since_pause = 0.0
        return _BREAK


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection was in the way."""
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for Python's own errors."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
