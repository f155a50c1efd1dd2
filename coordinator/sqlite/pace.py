"""Pace: when a waiting reader looks for other processes' commits."""

from __future__ import annotations

from time import monotonic

from .inotify import Inotify

_POLL = 0.01  # seconds
# With inotify, for changes that it does not report.
_SELDOM = 1.0
# Some time passes between a write and being able to read it: it is written, then synced, then made visible.
_FIRST_PAUSE, _SYNCED = 0.0005, 1.0


class Pace:
    """Looks every 10 ms. With inotify every second, and soon after a write."""

    def __init__(self, inotify: Inotify | None) -> None:
        self.inotify = inotify
        self._pause = _POLL
        self._until = 0.0 if inotify else float("inf")
        self._written = False

    def next(self) -> float:
        """Seconds until the next look."""
        if monotonic() >= self._until:
            self._written = False
            return _SELDOM
        pause, self._pause = self._pause, min(self._pause * 2, _POLL)
        return pause

    def look(self) -> None:
        """Look soon if there was a write."""
        if self.inotify and self.inotify.written():
            self._written = True
            self._pause, self._until = _FIRST_PAUSE, monotonic() + _SYNCED

    @property
    def silent(self) -> bool:
        """Whether there is inotify, and nothing that it has reported could still become visible."""
        self.look()
        return self.inotify is not None and not self._written
