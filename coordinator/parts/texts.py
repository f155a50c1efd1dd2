"""Texts: what a text, or bytes, that has changed still has in common with one that was there before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

# Texts that begin or end with as many equal bytes are compared, but no more than so many with each.
_ENDS, _MOST = 256, 4
# In a part of this size that is at neither end, some bytes are looked for, and in what is left of it again, so often.
_LARGE, _SAMPLE, _SAMPLES, _DEPTH = 2048, 32, 5, 10


class Common(NamedTuple):
    """A part of a text, and where the base has the same bytes (-1: it does not)."""

    first: int
    last: int
    at: int


class Texts:
    """The texts of a base that a body does not have."""

    def __init__(self, data: bytes, base: bytes) -> None:
        self._data = data
        self._base = base
        self._all: dict[tuple[int, int], None] = {}
        self._alike: dict[tuple[int, bytes], dict[tuple[int, int], None]] = {}

    def add(self, first: int, last: int) -> None:
        """One of the base."""
        for known in (self._all, *(self._alike.setdefault(end, {}) for end in _ends(self._base, first, last))):
            known.pop((first, last), None)
            known[first, last] = None

    def common(self, first: int, last: int) -> Sequence[Common]:
        """A text of the body in parts, in order."""
        alike = [islice(self._alike.get(end, ()), _MOST) for end in _ends(self._data, first, last)]
        known = dict.fromkeys(text for texts in alike for text in texts)
        if not known and last - first >= _LARGE:
            known = dict.fromkeys(islice(self._all, _MOST))
        found = [([*self._compared(first, last, *text)], text) for text in known]
        if not found:
            return [Common(first, last, -1)]
        best, text = max(found, key=lambda each: _length(each[0]))
        self.add(*text)  # behind the others, which are probably what the next texts were
        return best

    def _compared(self, first: int, last: int, start: int, end: int, depth: int = _DEPTH) -> Iterator[Common]:
        """A range of the body and one of the base: what is equal at both ends, and in the middle."""
        most = min(last - first, end - start)
        same = _equal(self._data, first, self._base, start, most)
        behind = _equal_behind(self._data, last, self._base, end, most - same)
        yield Common(first, first + same, start)
        yield from self._middle(first + same, last - behind, start + same, end - behind, depth)
        yield Common(last - behind, last, end - behind)

    def _middle(self, first: int, last: int, start: int, end: int, depth: int) -> Iterator[Common]:
        found = [*self._sampled(first, last, start, end)] if depth and last - first >= _LARGE else []
        if not found:
            yield Common(first, last, -1)
            return
        at, stop, there = max(found, key=lambda each: each.last - each.first)
        yield from self._compared(first, at, start, there, depth - 1)
        yield Common(at, stop, there)
        yield from self._compared(stop, last, there + stop - at, end, depth - 1)

    def _sampled(self, first: int, last: int, start: int, end: int) -> Iterator[Common]:
        """What is equal around some places."""
        for number in range(_SAMPLES):
            at = first + (2 * number + 1) * (last - first - _SAMPLE) // (2 * _SAMPLES)
            sample = self._data[at : at + _SAMPLE]
            there = start + at - first  # as where numbers have changed
            if there + _SAMPLE > end or not self._base.startswith(sample, there):
                there = self._base.find(sample, start, end)
            if there >= 0:
                before = _equal_behind(self._data, at, self._base, there, min(at - first, there - start))
                same = _equal(self._data, at, self._base, there, min(last - at, end - there))
                yield Common(at - before, at + same, there - before)


def _ends(body: bytes, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    yield 0, body[first : min(first + _ENDS, last)]
    yield 1, body[max(last - _ENDS, first) : last]


def _length(parts: Sequence[Common]) -> int:
    """How much of a text the base has."""
    return sum(part.last - part.first for part in parts if part.at >= 0)


def _equal(one: bytes, at: int, other: bytes, there: int, most: int) -> int:
    """How many bytes are equal from these offsets on."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if one[at + least : at + middle] == other[there + least : there + middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _equal_behind(one: bytes, at: int, other: bytes, there: int, most: int) -> int:
    """How many bytes are equal before these offsets."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if one[at - middle : at - least] == other[there - middle : there - least]:
            least = middle
        else:
            most = middle - 1
    return least
