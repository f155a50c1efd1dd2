"""Framed: logs whose bytes are coded in frames, apart from each other. Only whole frames can be shared."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

# A log's bytes are coded in frames of no more than this, because what shares only a piece of one has to write the rest
# of it anew.
FRAME = 8192
# What has to be written anew for that is cut smaller: it may happen there again, as where a window slides.
SMALL_FRAME = 1024


class Frame(NamedTuple):
    """How much a frame holds, and its size in its log, in bytes."""

    holds: int
    stored: int


class Framed(bytes):
    """What some frames hold."""

    frames: tuple[Frame, ...] = ()


def frames_of(bodies: Iterable[bytes]) -> tuple[Frame, ...]:
    """The frames from which these bytes were read."""
    return tuple(frame for body in bodies if isinstance(body, Framed) for frame in body.frames)


def portions(data: bytes, most: int) -> Iterator[bytes]:
    """What goes into each frame."""
    return (data[at : at + most] for at in range(0, len(data), most))


class Frames:
    """The frames of a body: where they begin and end in it, and in what its spans hold."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self._frames = frames
        self._held = [*accumulate((frame.holds for frame in frames), initial=0)]
        self._stored = [*accumulate((frame.stored for frame in frames), initial=0)]

    def within(self, first: int, last: int) -> tuple[int, int]:
        """Where those begin and end that are within this range of the body. Both the same if there are none."""
        begin, end = bisect_left(self._held, first), bisect_right(self._held, last) - 1
        return (self._held[begin], self._held[end]) if begin < end else (first, first)

    def stored(self, first: int, last: int) -> tuple[int, int]:
        """Where the spans hold this range, which begins and ends with a frame."""
        return self._stored[bisect_left(self._held, first)], self._stored[bisect_left(self._held, last)]

    def of(self, first: int, last: int) -> Sequence[Frame]:
        """The frames of this range."""
        return self._frames[bisect_left(self._held, first) : bisect_left(self._held, last)]
