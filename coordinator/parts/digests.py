"""Digests: of the parts of a thread's checkpoints, one after the other. A part that goes on where an earlier one ended
is hashed from there, so that a thread takes time for what it keeps, and not for what all its checkpoints say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xxhash import xxh3_128

from .spans import Span


class Plan(NamedTuple):
    """How a part's digest is found: `rest` is to be read, and hashed after what is known at `ground` (0: nothing).
    Then that is known at `place`."""

    ground: int
    rest: Sequence[Span]
    place: int


class Digests:
    """What was hashed so far. Parts are planned and then hashed in the same order."""

    def __init__(self) -> None:
        # Where a span begins, behind which others: its number.
        self._places: dict[Any, int] = {}
        self._ends: dict[int, int] = {}
        self._states: dict[int, xxh3_128] = {0: xxh3_128()}

    def plan(self, spans: Sequence[Span]) -> Plan:
        """For a part with these spans."""
        places = self._placed(spans)
        ground, rest = 0, list(spans)
        for at in range(len(spans) - 1, -1, -1):
            log, _, last = spans[at]
            end = self._ends.get(places[at], last + 1)
            if end <= last:
                ground, rest = places[at], [*([Span(log, end, last)] if end < last else []), *spans[at + 1 :]]
                break
        self._ends[places[-1]] = spans[-1].last
        return Plan(ground, rest, places[-1])

    def _placed(self, spans: Sequence[Span]) -> list[int]:
        numbers, before = list[int](), 0
        for span in spans:
            numbers.append(self._number(before, span.log, span.first))
            before = self._number(before, *span)
        return numbers

    def _number(self, *key: Any) -> int:
        return self._places.setdefault(key, len(self._places) + 1)

    def digest(self, plan: Plan, held: Mapping[Span, bytes], end: bytes) -> bytes:
        """Of a part, given what its spans hold, and the end that is not in a log."""
        hashed = self._states[plan.ground].copy()
        for span in plan.rest:
            hashed.update(held[span])
        self._states[plan.place] = hashed
        whole = hashed.copy()
        whole.update(end)
        return whole.digest()
