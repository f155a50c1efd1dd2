"""Looks: when somebody who waits looks for other processes' commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from types import TracebackType

from ...contracts.errors import BatonpassError
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
        """Whether there is an ear that has heard nothing."""
        self.listen()
        return self.ear is not None and not self._heard


class Looks:
    """Within `with`, sets `woken` when a look finds that `changed` is true."""

    def __init__(self, changed: Callable[[], bool], woken: asyncio.Event, pace: Pace) -> None:
        self._changed = changed
        self._woken = woken
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        if self._pace.ear:
            self._loop.add_reader(self._pace.ear.fd, self._hear)
        self._later()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer:
            self._timer.cancel()
        if self._pace.ear:
            self._loop.remove_reader(self._pace.ear.fd)

    def _hear(self) -> None:
        self._pace.listen()
        if self._timer:
            self._timer.cancel()
        self._look()

    def _look(self) -> None:
        try:
            changed = self._changed()
        except BatonpassError:
            changed = True  # who waits looks as well, and meets it there
        if changed:
            self._woken.set()
        else:
            self._later()

    def _later(self) -> None:
        # A timer: a wait with a deadline of its own for each look takes twice the processor time.
        self._timer = self._loop.call_later(self._pace.next(), self._look)
