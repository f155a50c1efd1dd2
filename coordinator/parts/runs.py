"""Runs: how what spans hold is carried to new logs, each byte once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...contracts.lean import dataclass
from .spans import Append, Span


class Portion(NamedTuple):
    """Bytes that are to be carried: where they are, and the new log and offset."""

    source: Span
    log: str
    at: int


@dataclass(slots=True)
class _Run:
    """The bytes of a log from `first` to `last`. They are carried already, to a new log of their own."""

    first: int
    last: int
    log: str


class Runs:
    """The spans of a thread's checkpoints, one checkpoint after the other. A span stays in one piece, so what it has of
    several runs is carried again."""

    def __init__(self) -> None:
        self._runs: dict[str, list[_Run]] = {}

    def carry(self, spans: Iterable[Span], new_id: str) -> tuple[list[Span], list[Portion]]:
        """A checkpoint's spans in the new logs, which are named after it, and the bytes that it adds there."""
        carried: list[Span] = []
        portions: list[Portion] = []
        begun = 0
        for span in spans:
            runs = self._runs.setdefault(span.log, [])
            run = next((run for run in reversed(runs) if run.first <= span.first <= run.last), None)
            if run is None:
                run = _Run(span.first, span.first, f"{new_id}.{begun}")
                runs.append(run)
                begun += 1
            if run.last < span.last:
                portions.append(Portion(Span(span.log, run.last, span.last), run.log, run.last - run.first))
                run.last = span.last
            carried.append(Span(run.log, span.first - run.first, span.last - run.first))
        return carried, portions


def merged(appends: Iterable[Append]) -> list[Append]:
    """The same bytes, each log's in one piece. They must follow each other."""
    found: dict[str, list[Append]] = {}
    for append in appends:
        found.setdefault(append.log, []).append(append)
    return [Append(log, each[0].at, b"".join([one.data for one in each])) for log, each in found.items()]
