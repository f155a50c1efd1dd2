"""Waiting for other connections to the file: SQLite has one writer at a time, and some moments with no reader."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
BUSY_DEADLINE = 30.0  # seconds until `Overloaded`
# A save holds the file for about 0.1 ms: who sleeps much longer leaves it idle. Who finds it taken several times in a
# row is one of many, and each look takes processor from the one that holds it: so pauses grow fast.
_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE = 0.00005, 3, 0.006
_TURN, _BREAK = 0.02, 0.01  # seconds of cleaning up in a row, and of leaving the file to others


def patiently(act: Callable[[], R]) -> R:
    """What `act` answers, as soon as the file is not busy; SQLite's error after `BUSY_DEADLINE`.

    With jitter: SQLite's own waiting backs off to 100 ms, starves writers for seconds, and does not help those who
    switch a new file to WAL at the same time. Readers wait too: for the first and the last connection of all, which
    recover and remove the write-ahead log alone.
    """
    deadline = time.monotonic() + BUSY_DEADLINE
    pause = _FIRST_PAUSE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, pause))
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)


class Courtesy:
    """Clean-ups are many writes in a row, and who waits for the file looks seldom: it would find it free by luck."""

    def __init__(self) -> None:
        self._since_pause = 0.0

    def pause(self, began: float) -> float:
        """How long the file is left to others after a write of a clean-up that began then, in seconds."""
        self._since_pause += time.monotonic() - began
        if self._since_pause < _TURN:
            return 0.0
        self._since_pause = 0.0
        return _BREAK


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else was in the way."""
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code, 0 if the error is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
