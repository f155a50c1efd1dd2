"""Pace: when a waiting reader looks for other processes' commits."""

from __future__ import annotations

from time import monotonic

from .ear import Ear

_POLL = 0.01  # seconds
# With an ear, for changes that it does not hear.
_SELDOM = 1.0
# Some time passes between hearing a commit and being able to read it: it is written, then synced, then made visible.
_FIRST_PAUSE, _SYNCED = 0.0005, 1.0


class Pace:
    """Looks every 10 ms. With an ear every second, and soon after a write was heard."""

    def __init__(self, ear: Ear | None) -> None:
        self.ear = ear
        self._pause = _POLL
        self._until = 0.0 if ear else float("inf")
        self._heard = False

    def next(self) -> float:
        """Seconds until the next look."""
        if monotonic() >= self._until:
            self._heard = False
            return _SELDOM
        pause, self._pause = self._pause, min(self._pause * 2, _POLL)
        return pause

    def listen(self) -> None:
        """Look soon if there was a write."""
        if self.ear and self.ear.heard():
            self._heard = True
            self._pause, self._until = _FIRST_PAUSE, monotonic() + _SYNCED

    @property
    def silent(self) -> bool:
        """Whether there is an ear, and nothing it has heard could still become visible."""
        self.listen()
        return self.ear is not None and not self._heard
