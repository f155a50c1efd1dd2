"""Pace: when somebody who waits looks for other processes' commits."""

from __future__ import annotations

from time import monotonic

from .ear import Ear

_POLL = 0.01  # seconds
# With an ear, for those whom it does not hear.
_SELDOM = 1.0
# A commit can be read some time after it was heard: its bytes are written first, then synced, then made visible.
_FIRST_PAUSE, _SYNCED = 0.0005, 1.0


class Pace:
    """Looks every 10 ms; with an ear every second, but soon after a write was heard."""

    def __init__(self, ear: Ear | None) -> None:
        self.ear = ear
        self._pause = _POLL
        self._until = 0.0 if ear else float("inf")
        self._heard = False

    def next(self) -> float:
        """Seconds to the next look."""
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
        """Whether there is an ear that has heard nothing that would be seen by now."""
        self.listen()
        return self.ear is not None and not self._heard
