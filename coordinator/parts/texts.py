"""Texts: what a text, or bytes, that has changed still has in common with one that was there before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

# Texts that begin or end with as many equal bytes are compared, but no more than so many with each.
_ENDS, _MOST = 256, 4
# Of two ranges of the same length, blocks of this size are compared: numbers, and what is replaced, change in place.
_BLOCK = 256
# In what differs, and has this size, some bytes are looked for, and in what is left of it again, so often.
_LARGE, _SAMPLE, _SAMPLES, _DEPTH = 2048, 32, 5, 10
# If so few of all bytes, or less than this part of them, are found at once, all would be found in too many pieces.
_FEW, _PART = 256, 512
# So many times the bytes of both values are searched in all. Texts that have changed take 10 at most, and hundreds of
# others hundreds.
_SEARCHED = 32


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
        self._left = _SEARCHED * (len(data) + len(base))
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
        if last - first != end - start:
            yield from self._moved(first, last, start, end, depth)
            return
        away = start - first
        for at, stop in self._changed(first, last, away):
            same = _equal(self._data, at, self._base, at + away, stop - at)
            behind = _equal_behind(self._data, stop, self._base, stop + away, stop - at - same)
            yield Common(first, at + same, first + away)
            first = stop - behind
            yield from self._moved(at + same, first, at + same + away, first + away, depth)
        yield Common(first, last, first + away)

    def _changed(self, first: int, last: int, away: int) -> Iterator[tuple[int, int]]:
        """Runs of blocks that differ from those so far away in the base."""
        begun = -1
        for at in range(first, last, _BLOCK):
            if not self._base.startswith(self._data[at : min(at + _BLOCK, last)], at + away):
                begun = at if begun < 0 else begun
            elif begun >= 0:
                yield begun, at
                begun = -1
        if begun >= 0:
            yield begun, last

    def _moved(self, first: int, last: int, start: int, end: int, depth: int) -> Iterator[Common]:
        """A range that begins and ends with other bytes than the one of the base."""
        found = [*self._sampled(first, last, start, end)] if depth and last - first >= _LARGE else []
        at, stop, there = max(found, key=lambda each: each.last - each.first, default=Common(first, first, -1))
        if there < 0 or stop - at < max(_FEW, (last - first) // _PART):
            yield Common(first, last, -1)
            return
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
                there = self._found(sample, start, end)
            if there >= 0:
                before = _equal_behind(self._data, at, self._base, there, min(at - first, there - start))
                same = _equal(self._data, at, self._base, there, min(last - at, end - there))
                yield Common(at - before, at + same, there - before)

    def _found(self, sample: bytes, start: int, end: int) -> int:
        """Where this range of the base has a sample. -1: nowhere, or enough was searched."""
        if self._left <= 0:
            return -1
        there = self._base.find(sample, start, end)
        self._left -= (there if there >= 0 else end) - start
        return there


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
