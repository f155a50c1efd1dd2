"""Lifetime: until when a store may connect."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress

from ..contracts.errors import BadSetup


class Closed(BadSetup):
    """What is asked of a coordinator that was closed."""


class Lifetime:
    """A store connects whenever it needs to, also after it was closed. But once whoever `connect`ed has closed it, it
    may not, until it is opened again: nobody would ever close what it connects then. Several may have it open at once,
    and its life is over when all of them have closed it."""

    def __init__(self) -> None:
        self._openings: list[None] = []  # a list, because its methods need no lock among threads, or after a fork
        self._closed = False

    def begin(self) -> None:
        """It is opened."""
        self._openings.append(None)

    def end(self) -> None:
        """It is about to be closed."""
        with suppress(IndexError):  # it was not open
            self._openings.pop()
        self._closed = True

    @contextmanager
    def prolonged(self) -> Generator[None]:
        """It is not over within this block. A worker whose coordinator is closed has to give back what it holds."""
        self._openings.append(None)
        try:
            yield
        finally:
            self._openings.pop()

    @property
    def over(self) -> bool:
        """Whether nothing may be connected."""
        return self._closed and not self._openings

    def check(self) -> None:
        """`BadSetup` if it is over."""
        if self.over:
            raise Closed(
                "this coordinator is closed: use it, and its jobs and consumers, inside its `with` block (or before "
                "close() or aclose()), or connect again"
            )
