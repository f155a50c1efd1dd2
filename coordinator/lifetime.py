"""Lifetime: until when a store may connect."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet, ref

from ..contracts.errors import BadSetup


class Closed(BadSetup):
    """What is asked of a coordinator that was closed."""


class Opening:
    """One of those who have it open: a block, or a call in a task or thread."""

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self.block = False  # until the block is entered
        self.ended = False
        self._by = ref(_whoever())

    def of(self, whom: Any) -> bool:
        """Whether that task or thread made it."""
        return self._by() is whom


class Lifetime:
    """A store connects whenever it needs to, also after it was closed. But once whoever `connect`ed has closed it, it
    may not, until it is opened again: nobody would ever close what it connects then. Several may have it open at once,
    and its life is over when all of them have closed it. One who closes it twice does not close it for the others."""

    def __init__(self) -> None:
        # Lists, because their methods need no lock among threads, or after a fork.
        self._openings: list[Opening] = []  # and blocks that were closed early
        self._prolonged: list[None] = []
        self._closers = WeakSet[Any]()
        self._closed = False

    def begin(self, *, is_async: bool) -> Opening:
        """It is opened."""
        opening = Opening(is_async=is_async)
        self._openings.append(opening)
        return opening

    def end(self, opening: Opening | None) -> bool:
        """It is about to be closed. Returns whether there is anything to close."""
        if opening is None or opening.ended:
            return self.over
        opening.ended = self._closed = True
        self._closers.add(_whoever())
        if not opening.block:
            self._forget(opening)
        return True

    def left(self, *, is_async: bool) -> Opening | None:
        """The opening of the block that ends here."""
        whom = _whoever()
        blocks = [each for each in reversed(self._openings) if each.block and each.is_async == is_async]
        # A generator's block may end in another task than it began. As each block ends once, any of them will do then.
        left = max(blocks, key=lambda each: each.of(whom), default=None)
        if left is not None:
            self._forget(left)
        return left

    def meant(self, *, is_async: bool) -> Opening | None:
        """The opening that a call to close means, if any: the newest of this task or thread. Or if it had none, any,
        because whoever opened it may be gone. But who has already closed one may be closing that again."""
        whom, known = _whoever(), self._openings[::-1]
        mine = [each for each in known if each.of(whom) and each.is_async == is_async]
        if mine or whom in self._closers:
            return mine[0] if mine else None
        likely = [each for each in known if not each.ended]
        return max(likely, key=lambda each: (each.of(whom), not each.block, each.is_async == is_async), default=None)

    def _forget(self, opening: Opening) -> None:
        with suppress(ValueError):  # another thread was quicker
            self._openings.remove(opening)

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
        return self._closed and not self._prolonged and all(each.ended for each in self._openings)

    def check(self) -> None:
        """`BadSetup` if it is over."""
        if self.over:
            raise Closed(
                "this coordinator is closed: use it, and its jobs and consumers, inside its `with` block (or before "
                "close() or aclose()), or connect again"
            )


def _whoever() -> Any:
    """The task or thread that this is called from."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop
        task = None
    return task or threading.current_thread()
