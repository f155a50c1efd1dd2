"""Lifetime: until when a store may connect."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock

from ..contracts.errors import BadSetup
from .forks import tell_of_forks


class Closed(BadSetup):
    """What is asked of a coordinator that was closed."""


class Lifetime:
    """A store connects whenever it needs to, also after it was closed. But once whoever `connect`ed has closed it, it
    may not, until it is opened again: nobody would ever close what it connects then.

    Several may have it open at once, by calls and in blocks, and its life is over when all of them have closed it. A
    call to close ends what a call has opened, as often as there were such calls, and never a block. Until then nothing
    that they use is closed.
    """

    def __init__(self) -> None:
        self._alone = Lock()
        # Lists, because their methods need no lock among threads.
        self._calls: list[None] = []
        self._blocks: list[None] = []
        self._prolonged: list[None] = []
        self._closed = False
        self._checked = False
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the thread that held the lock does not exist here."""
        self._alone = Lock()

    def begin(self, *, block: bool) -> None:
        """It is opened."""
        with self._alone:
            (self._blocks if block else self._calls).append(None)

    def end(self, *, block: bool) -> bool:
        """One of those who have it open closes it. Returns whether it was the last one, so that the store is closed."""
        with suppress(IndexError):  # it was closed before, or another thread is quicker
            (self._blocks if block else self._calls).pop()
        self._closed = True
        if self._in_use:
            return False
        self._checked = False
        return True

    @property
    def checked(self) -> bool:
        """Whether somebody who has it open has been told that the store will do."""
        return self._checked

    def has_checked(self) -> None:
        """The store will do."""
        self._checked = self._in_use

    @contextmanager
    def ending(self) -> Generator[bool]:
        """A block in which nobody opens it, for taking away what is to be closed. Gives whether nobody has it open: not
        if somebody was quicker. It must not wait for anything."""
        with self._alone:
            yield not self._in_use

    @contextmanager
    def prolonged(self) -> Generator[None]:
        """It is not over within this block. A worker whose coordinator is closed has to give back what it holds."""
        with self._alone:
            self._prolonged.append(None)
        try:
            yield
        finally:
            self._prolonged.pop()
            self._checked = self._checked and self._in_use

    @property
    def over(self) -> bool:
        """Whether nothing may be connected."""
        return self._closed and not self._in_use

    @property
    def _in_use(self) -> bool:
        return bool(self._calls or self._blocks or self._prolonged)

    def check(self) -> None:
        """`BadSetup` if it is over."""
        if self.over:
            raise Closed(
                "this coordinator is closed: use it, and its jobs and consumers, inside its `with` block (or before "
                "close() or aclose()), or connect again"
            )
