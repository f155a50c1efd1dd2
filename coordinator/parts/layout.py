"""Layout: in which logs the new pieces of a body go.

What grows at the end of a container goes behind what the container had, in a log of its own, and all else into another
log. So a body stays in a few spans, however often each of its containers grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import NamedTuple

from ...contracts.lean import dataclass
from .pieces import Container, Match
from .spans import Append, Span, cut

# A span takes space in every later checkpoint, so fewer bytes than this are written again rather than shared.
_LEAST_RUN = 256
# A value from more logs is written anew, because reading it would take too many lookups.
MOST_LOGS = 8


class Run(NamedTuple):
    """Adjacent pieces, and the offset at which the base has the same bytes (-1: it does not). `begins` and `ends` are
    the containers of the first and the last piece."""

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
        return self._replace(last=run.last) if run.at < 0 and inside else None


def runs_of(pieces: Iterable[Match]) -> list[Run]:
    """The pieces, with short matches counted as new, and adjacent ones joined."""
    return _joined(
        run if run.last - run.first >= _LEAST_RUN else run._replace(at=-1)
        for run in _joined(Run(piece.first, piece.last, piece.at, piece.within, piece.within) for piece in pieces)
    )


def _joined(runs: Iterable[Run]) -> list[Run]:
    found: list[Run] = []
    for run in runs:
        if found and (longer := found[-1].with_next(run)):
            found[-1] = longer
        elif run.last > run.first:
            found.append(run)
    return found


@dataclass(slots=True)
class Layout:
    """The spans of a new body, and what is appended to logs for it. `ends` are those of the logs that may be appended
    to, and `new_log` names another one."""

    data: bytes
    base: Sequence[Span]
    ends: dict[str, int]
    new_log: Callable[[], str]
    spans: list[Span] = field(default_factory=list[Span])
    _new: dict[str, tuple[int, list[bytes]]] = field(default_factory=dict[str, tuple[int, list[bytes]]])

    def fill(self, runs: Sequence[Run], *, apart: bool) -> None:
        """Lay all pieces out. Unless `apart`, all that is new goes into one log."""
        growing = {at for at in _growing(runs) if apart}
        places = [[*cut(self.base, run.at, run.at + run.last - run.first)] if run.at >= 0 else [] for run in runs]
        logs = {span.log for place in places for span in place}
        taken = {at: span.log for at in growing if self._is_open(span := places[at - 1][-1])}
        rest = ""
        for number, (run, place) in enumerate(zip(runs, places, strict=True)):
            if place:
                self.spans += place
            elif number in taken:
                self._append(taken[number], run)
            elif number in growing and len(logs) < MOST_LOGS:
                logs.add(log := self.new_log())
                self._append(log, run)
            else:
                rest = rest or self._rest({*taken.values()})
                self._append(rest, run)

    def _is_open(self, span: Span) -> bool:
        return self.ends.get(span.log) == span.last

    def _rest(self, taken: set[str]) -> str:
        """The log for what does not grow in its place."""
        return next((log for log in self.ends if log not in taken and log not in self._new), "") or self.new_log()

    def _append(self, log: str, run: Run) -> None:
        at = self.ends.get(log, 0)
        self._new.setdefault(log, (at, []))[1].append(self.data[run.first : run.last])
        self.ends[log] = at + run.last - run.first
        self.spans.append(Span(log, at, self.ends[log]))

    @property
    def appends(self) -> list[Append]:
        """What is appended, each log's in one piece."""
        return [Append(log, at, b"".join(pieces)) for log, (at, pieces) in self._new.items()]

    def closed(self) -> frozenset[str]:
        """The logs that don't end where the body's last span in them does, as far as is known."""
        lasts: dict[str, int] = {}
        for span in self.spans:
            lasts[span.log] = max(span.last, lasts.get(span.log, 0))
        return frozenset(log for log, last in lasts.items() if self.ends.get(log) != last)


def _growing(runs: Sequence[Run]) -> Iterator[int]:
    """Which new pieces are at the end of their container, behind what the base has of it. (Behind the outermost one
    there is nothing else.)"""
    for number, run in enumerate(runs):
        before, behind = runs[max(number - 1, 0)], {each.begins for each in runs[number + 1 : number + 2]}
        if run.at < 0 <= before.at and before.ends == run.begins not in behind and len(run.begins) > 1:
            yield number
