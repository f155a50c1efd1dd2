"""Aside: what this worker leaves to others: queues with a delivery for which it lacks the key, and jobs that other code
has begun. It looks again later."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ..contracts.errors import BadSetup
from ..coordinator.coded.codec import MissingKey, Unproven
from ..coordinator.rows import JobRow

# Seconds: how long a queue or a job is left alone the first time, and at most; doubled each time in between.
_FIRST, _LONGEST = 5.0, 60.0
# The same for a queue in which there are only jobs that are left alone.
_FIRST_REST, _LONGEST_REST = 0.5, 5.0


class Lacking(BadSetup):
    """This worker can't read something of the job. Leave it to workers that have the key."""


@contextmanager
def reading() -> Generator[None]:
    """Wrap reads of the job's own data during its run."""
    try:
        yield
    except (MissingKey, Unproven) as error:
        raise Lacking(str(error)) from None


class _Pauses:
    """What to leave alone, until when, and for how long the last time."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[float, float]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._of and self._of[name][0] > time.monotonic()

    def now(self) -> set[str]:
        return {name for name in self._of if name in self}

    def add(self, name: str, first: float, longest: float) -> float:
        """Returns for how many seconds. Several deliveries of one claim count once."""
        now = time.monotonic()
        until, last = self._of.get(name, (0.0, first / 2))
        if now >= until:
            last = min(last * 2, longest)
            self._of[name] = now + last, last
        return last

    def forget(self, name: str) -> None:
        self._of.pop(name, None)

    def forget_old(self, name: str = "") -> None:
        """Forget this one, or each, if it has been over for as long as it was: the next will be a short one again."""
        now = time.monotonic()
        for each in [name] if name else list(self._of):
            if each in self._of and now >= sum(self._of[each]):
                del self._of[each]


class Aside:
    """Which queues and jobs to leave alone, and until when."""

    def __init__(self) -> None:
        self._queues, self._jobs, self._rests = _Pauses(), _Pauses(), _Pauses()
        self._met: dict[str, set[str]] = {}  # such jobs, by queue, that were claimed since another one
        self.last = ""  # what was put here last: "queue" or "job"
        self.tip = ""  # how far its job had come

    def put(self, row: JobRow, what: str) -> float:
        """Leave a job, as far as it has come, or its whole queue, alone. Returns for how many seconds."""
        self.last, self.tip = what, row.tip
        if what == "queue":
            return self._queues.add(row.queue, _FIRST, _LONGEST)
        self._jobs.forget_old()
        return self._jobs.add(_visit(row), _FIRST, _LONGEST)

    def take_back(self, queue: str) -> None:
        """One of its deliveries could be read. (One that can't be read may be in the midst of a hundred that can.)"""
        self._queues.forget_old(queue)

    def meets(self, row: JobRow) -> bool:
        """Whether a job that was claimed is left alone. If one is met again before any other, there is nothing else in
        its queue. Then that rests, too."""
        visit, met = _visit(row), self._met.setdefault(row.queue, set())
        if visit not in self._jobs:
            del self._met[row.queue]
            self._rests.forget(row.queue)
            return False
        if visit in met:
            self._rests.add(row.queue, _FIRST_REST, _LONGEST_REST)
            met.clear()
        met.add(visit)
        return True

    def among(self, queues: Iterable[str]) -> set[str]:
        """Which of these queues are left alone now."""
        left = self._queues.now() | self._rests.now()
        return left.intersection(queues) if left else left


def _visit(row: JobRow) -> str:
    """The job as far as it has come: another worker may have gone on with it since."""
    return f"{row.id} {row.hop} {row.tip} {row.asked}"
