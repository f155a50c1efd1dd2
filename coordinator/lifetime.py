"""Lifetime: until when a store may connect."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress

from ..contracts.errors import BadSetup


class Closed(BadSetup):
    """What is asked of a coordinator that was closed."""


class Lifetime:
    """A store connects whenever it needs to, also after it was closed. But once whoever `connect`ed has closed it, it
    may not, until it is opened again: nobody would ever close what it connects then.

    Several may have it open at once, by calls and in blocks, and its life is over when all of them have closed it. A
    call to close ends what a call has opened, as often as there were such calls, and never a block.
    """

    def __init__(self) -> None:
        # Lists, because their methods need no lock among threads, or after a fork.
        self._calls: list[None] = []
        self._blocks: list[None] = []
        self._prolonged: list[None] = []
        self._closed = False

    def begin(self, *, block: bool) -> None:
        """It is opened."""
        (self._blocks if block else self._calls).append(None)

    def end(self, *, block: bool) -> bool:
        """It is about to be closed. Returns whether there is anything to close."""
        openings = self._blocks if block else self._calls
        with suppress(IndexError):  # it was closed before, or another thread is quicker
            openings.pop()
            self._closed = True
            return True
        self._closed = self._closed or not (self._blocks or self._calls)
        return self.over

    @contextmanager
    def prolonged(self) -> Generator[None]:
        """It is not over within this block. A worker whose coordinator is closed has to give back what it holds."""
        self._prolonged.append(None)
        try:
            yield
        finally:
            self._prolonged.pop()

    @property
    def over(self) -> bool:
        """Whether nothing may be connected."""
        return self._closed and not (self._calls or self._blocks or self._prolonged)

    def check(self) -> None:
        """`BadSetup` if it is over."""
        if self.over:
            raise Closed(
                "this coordinator is closed: use it, and its jobs and consumers, inside its `with` block (or before "
                "close() or aclose()), or connect again"
            )
