"""Clock: a store's time, which only the test moves."""

from __future__ import annotations

from collections.abc import Callable

_START = 1_800_000_000_000


class Clock:
    """Milliseconds since 1970. `moved` is told by how many it was moved."""

    def __init__(self) -> None:
        self.now = _START
        self.moved: Callable[[int], None] = lambda _: None

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self.now += milliseconds
        self.moved(milliseconds)
