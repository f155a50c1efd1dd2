"""Awaiting: how somebody waits for a job, also while the store is away."""

from __future__ import annotations

import time
from typing import TypeVar

from ...contracts.duration import Duration
from ...contracts.errors import Unavailable
from . import Call
from .events import Patience
from .inputs import deadline

T = TypeVar("T")
# The longest wait between two looks: wake-ups make it short, this bounds what a lost one costs.
_LOOK = 1.0


class Awaiting:
    """One caller's wait. `rest`: how long to leave a store alone that did not answer, in seconds."""

    def __init__(self, job_id: str, timeout: Duration | None = None) -> None:
        self._end = deadline(timeout, "timeout")
        self._patience = Patience(f"what job {job_id} does is seen")
        self.rest = 0.0

    @property
    def left(self) -> float:
        """How long to wait before the next look, in seconds; not at all when the time is over."""
        return min(self._end - time.monotonic(), _LOOK)

    def ask(self, call: Call[T]) -> Call[T | None]:
        """What a call gives; None if the store is away, and may come back while there is time."""
        try:
            answer = yield from call
        except Unavailable as error:
            left = self.left
            if left <= 0:
                raise
            self.rest = min(self._patience.pause(error), left)
            return None
        self._patience.over()
        return answer
