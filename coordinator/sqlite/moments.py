"""Moments: which writes an event loop does by itself, because they are over before it could have asked a thread.

A small transaction goes to the memory of the system, as a line of a log file does, and takes a tenth of a millisecond.
Where it takes longer (a disk that is overrun makes writers wait, a slow file system) the loop must not wait for it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from ..commands import Command, Put

# What one turn of a loop may write by itself: commands, and bytes of one of them.
_FEW, _SHORT = 16, 32 * 1024
# Seconds: a write that took longer was not over in a moment, and how long the loop does not try again.
_LONG, _PAUSE = 0.02, 5.0


class Moments:
    """What may be written at once: until that once took long, for some seconds."""

    def __init__(self) -> None:
        self._again = 0.0

    def is_one(self, commands: Sequence[Command[Any]]) -> bool:
        """Whether these writes take no longer than that."""
        return len(commands) <= _FEW and monotonic() >= self._again and all(map(_is_short, commands))

    @contextmanager
    def measured(self) -> Generator[None]:
        """While they are written."""
        began = monotonic()
        try:
            yield
        finally:
            ended = monotonic()
            if ended - began > _LONG:
                self._again = ended + _PAUSE


def _is_short(command: Command[Any]) -> bool:
    size = sum(len(write.data) for write in getattr(command, "writes", ()))
    if isinstance(command, Put):
        new = command.checkpoint
        size += len(new.state) + len(new.native) + len(new.header) + sum(len(append.data) for append in new.appends)
    return size <= _SHORT
