"""Sleeping: the logic of `ctx.sleep`. No I/O."""

from __future__ import annotations

from collections.abc import Generator

from ...contracts.checkpoint import Snapshot
from .counted import Later, counted, is_counted
from .steps import Pause, Steps

_NAME = "sleep"


class Sleeping(Pause):
    """The agent waits for a time."""

    def __init__(self, key: str, delay: int, steps: Steps) -> None:
        super().__init__(key)
        self.delay = delay
        self._key = key
        self._steps = steps

    def snapshot(self) -> Snapshot:
        """What is committed with the wait: the steps recorded until now, and the sleep. Nobody goes on from there
        before it is over."""
        return self._steps.snapshot(_NAME, also={self._key: self.delay / 1000})


def sleeping(steps: Steps, delay: int) -> Generator[Later, None, None]:
    """Return if the sleep for `delay` ms is over, or raise `Sleeping`. A hop's sleeps are counted."""
    earlier = {key: steps.digest(key, value) for key, value in steps.results().items() if is_counted(key, _NAME)}
    full, _ = yield from counted(steps, _NAME, delay / 1000, earlier)
    if full not in earlier:
        raise steps.paused(Sleeping(full, delay, steps))
