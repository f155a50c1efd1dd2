"""Aside: queues with a delivery that this worker leaves to others: it lacks the key, or its code may be older. It looks
again later."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ..contracts.errors import BadSetup
from ..coordinator.coded.codec import MissingKey, Unproven

# Seconds: how long a queue is left alone the first time, and at most; doubled each time in between.
_FIRST, _LONGEST = 5.0, 60.0


class Lacking(BadSetup):
    """This worker can't read something of the job. Leave it to workers that have the key."""


@contextmanager
def reading() -> Generator[None]:
    """Wrap reads of the job's own data during its run."""
    try:
        yield
    except (MissingKey, Unproven) as error:
        raise Lacking(str(error)) from None


class Aside:
    """Which queues to leave alone, and until when."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._pauses: dict[str, float] = {}
        self.times = 0  # how often a delivery was left

    def put(self, queue: str) -> float:
        """Leave a queue alone. Returns for how many seconds."""
        now = time.monotonic()
        self.times += 1
        if now >= self._until.get(queue, 0.0):  # several deliveries of one claim count once
            self._pauses[queue] = min(self._pauses.get(queue, _FIRST / 2) * 2, _LONGEST)
            self._until[queue] = now + self._pauses[queue]
        return self._pauses[queue]

    def take_back(self, queue: str) -> None:
        """One of its deliveries could be read. If that is so for as long again as the queue was left alone, the next
        pause is a short one. (One that can't be read may be in the midst of a hundred that can.)"""
        if self._pauses and time.monotonic() >= self._until.get(queue, 0.0) + self._pauses.get(queue, 0.0):
            self._pauses.pop(queue, None)
            self._until.pop(queue, None)

    def among(self, queues: Iterable[str]) -> set[str]:
        """Which of these queues are left alone now."""
        now = time.monotonic()
        return {queue for queue in queues if self._until.get(queue, 0.0) > now} if self._until else set()
