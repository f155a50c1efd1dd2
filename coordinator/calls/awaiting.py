"""Awaiting: how a caller waits for a job, also through an outage of the store."""

from __future__ import annotations

import time
from typing import TypeVar

from ...contracts.duration import Duration
from ...contracts.errors import Unavailable
from . import Call
from .events import Patience
from .inputs import deadline

T = TypeVar("T")
# The longest wait between two looks. Usually wake-ups end it earlier; this limits what losing one costs.
_LOOK = 1.0


class Awaiting:
    """One caller's wait. `rest`: for how many seconds to leave a store alone that did not answer."""

    def __init__(self, job_id: str, timeout: Duration | None = None) -> None:
        self._end = deadline(timeout, "timeout")
        self._patience = Patience(f"what job {job_id} does is seen")
        self.rest = 0.0

    @property
    def left(self) -> float:
        """For how many seconds to wait before the next look. 0 when the time is up."""
        return min(self._end - time.monotonic(), _LOOK)

    def ask(self, call: Call[T]) -> Call[T | None]:
        """The result of a call. None if the store is away, and there is still time for it to come back."""
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
