"""Layout: in which logs the new pieces of a body go.

What grows at the end of a container goes behind what the container had, in a log of its own, and all else into another
log. So a body stays in a few spans, however often each of its containers grows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from .framed import FRAME, SMALL_FRAME, Frame, Frames
from .nodes import Part
from .pieces import Container, Match
from .spans import Span, cut
from .writer import Writer

# A span takes space in every later checkpoint, so fewer bytes than this are written again rather than shared.
_LEAST_RUN = 256
# A value from more logs is written anew: each takes some hundreds of bytes on Redis.
MOST_LOGS = 32
_NEW, _AGAIN = -1, -2


class Run(NamedTuple):
    """Adjacent pieces, and the offset at which the base has the same bytes (-1: it does not; -2: in a frame that can't
    be shared). `begins` and `ends` are the containers of the first and the last piece."""

    first: int
    last: int
    at: int
    begins: Container
    ends: Container

    def with_next(self, run: Run) -> Run | None:
        """The run with the one behind it. None if they don't belong together."""
        if self.at >= 0:
            return self._replace(last=run.last, ends=run.ends) if run.at == self.at + self.last - self.first else None
        inside = run.begins[: len(self.ends)] == self.ends
        return self._replace(last=run.last) if run.at == self.at and inside else None


def _joined(runs: Iterable[Run]) -> list[Run]:
    found: list[Run] = []
    for run in runs:
        if found and (longer := found[-1].with_next(run)):
            found[-1] = longer
        elif run.last > run.first:
            found.append(run)
    return found


def longest(runs: Sequence[Run], number: int) -> list[Run]:
    """The same, with what the base has counted as new, but for so many runs."""
    kept = {*sorted((run for run in runs if run.at >= 0), key=lambda run: run.first - run.last)[:number]}
    return _joined(run if run.at < 0 or run in kept else run._replace(at=_NEW) for run in runs)


class Layout:
    """Where the pieces of a new body go: spans, some of which the base has, and some that are added to logs."""

    def __init__(self, data: bytes, base: Part, writer: Writer) -> None:
        self._data = data
        self._base = base
        self._starts = [*accumulate((span.last - span.first for span in base.spans), initial=0)]
        self._frames = Frames(base.frames) if base.frames is not None else None
        self._writer = writer
        self._ends = writer.ends(base)
        self._used: set[str] = set()
        self._written: list[Frame] = []
        self.spans: list[Span] = []

    def runs(self, pieces: Iterable[Match]) -> list[Run]:
        """The pieces, with short matches counted as new, and adjacent ones joined."""
        runs = _joined(Run(piece.first, piece.last, piece.at, piece.within, piece.within) for piece in pieces)
        if self._frames is not None:
            runs = [each for run in runs for each in _in_frames(run, self._frames)]
        return _joined(run if run.last - run.first >= _LEAST_RUN else run._replace(at=_NEW) for run in runs)

    def fill(self, runs: Sequence[Run], *, apart: bool) -> None:
        """Lay all pieces out. Unless `apart`, all that is new goes into one log."""
        growing = {at for at in _growing(runs) if apart}
        places = [[*self._place(run)] if run.at >= 0 else [] for run in runs]
        logs = {span.log for place in places for span in place}
        taken = {at: span.log for at in growing if self._is_open(span := places[at - 1][-1])}
        rest = ""
        for number, (run, place) in enumerate(zip(runs, places, strict=True)):
            if place:
                self.spans += place
                self._written += self._frames.of(run.at, run.at + run.last - run.first) if self._frames else ()
            elif number in taken:
                self._append(taken[number], run)
            elif number in growing and len(logs) < MOST_LOGS - 1:  # one is for the rest
                logs.add(log := self._writer.new_log())
                self._append(log, run)
            else:
                rest = rest or self._rest({*taken.values()})
                self._append(rest, run)

    def _place(self, run: Run) -> Iterator[Span]:
        first, last = run.at, run.at + run.last - run.first
        if self._frames:
            first, last = self._frames.stored(first, last)
        begin = bisect_right(self._starts, first) - 1
        spans = self._base.spans[begin : bisect_left(self._starts, last)]
        return cut(spans, first - self._starts[begin], last - self._starts[begin])

    def _is_open(self, span: Span) -> bool:
        return self._ends.get(span.log) == span.last

    def _rest(self, taken: set[str]) -> str:
        """The log for what does not grow in its place."""
        free = (log for log in self._ends if log not in taken and log not in self._used)
        return next(free, "") or self._writer.new_log()

    def _append(self, log: str, run: Run) -> None:
        data, size = self._data[run.first : run.last], SMALL_FRAME if run.at == _AGAIN else FRAME
        span, frames = self._writer.add(log, self._ends.get(log, 0), data, size)
        self._used.add(log)
        self._ends[log] = span.last
        self._written += frames or ()
        self.spans.append(span)

    def frames(self) -> tuple[Frame, ...] | None:
        """The frames of the body, in order."""
        return tuple(self._written) if self._frames else None

    def closed(self) -> frozenset[str]:
        """The logs that don't end where the body's last span in them does, as far as is known."""
        lasts: dict[str, int] = {}
        for span in self.spans:
            lasts[span.log] = max(span.last, lasts.get(span.log, 0))
        return frozenset(log for log, last in lasts.items() if self._ends.get(log) != last)


def _in_frames(run: Run, frames: Frames) -> Iterator[Run]:
    """A piece of the base, as whole frames, and what is of other frames around them. That gets frames of its own, so
    that it is whole the next time."""
    if run.at < 0:
        yield run
        return
    moved = run.first - run.at
    first, last = (at + moved for at in frames.within(run.at, run.at + run.last - run.first))
    yield Run(run.first, first, _AGAIN, run.begins, run.begins)
    yield Run(first, last, first - moved, run.begins, run.ends)
    yield Run(last, run.last, _AGAIN, run.ends, run.ends)


def _growing(runs: Sequence[Run]) -> Iterator[int]:
    """Which new pieces are at the end of their container, behind what the base has of it. (Behind the outermost one
    there is nothing else.)"""
    for number, run in enumerate(runs):
        before, behind = runs[max(number - 1, 0)], {each.begins for each in runs[number + 1 : number + 2]}
        if run.at == _NEW and before.at >= 0 and before.ends == run.begins not in behind and len(run.begins) > 1:
            yield number
