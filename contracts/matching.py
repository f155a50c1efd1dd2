"""Matching: which items two lists have in common, as many as possible, in the order of both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
"""The places of the same item in the two lists."""

# Lists with so many pairs of items (10,000 in each) are matched exactly. That takes 50 ms and 30 MB.
_MOST = 10**8
# Longer ones are split first, where so many items in a row occur only once.
_ROWS = (16, 4, 1)


def matching(old: Iterable[object], new: Iterable[object]) -> Iterator[Pair]:
    """The pairs of the same items, in order. No more can be found in lists of 10,000 items that may correspond. In
    longer ones there are about as many, and the time is in proportion to their length."""
    numbers: dict[object, int] = {}
    a, b = ([numbers.setdefault(item, len(numbers)) for item in items] for items in (old, new))
    return _within(a, b, _ROWS)


def _within(a: list[int], b: list[int], rows: Sequence[int]) -> Iterator[Pair]:
    """The pairs of two parts. `rows` are the lengths by which they may still be split."""
    first, last = _ends(a, b)
    yield from ((n, n) for n in range(first))
    yield from _middle(a, b, range(first, len(a) - last), range(first, len(b) - last), rows)
    yield from ((len(a) - n, len(b) - n) for n in range(last, 0, -1))


def _ends(a: list[int], b: list[int]) -> Pair:
    """How many items are the same at the beginning, and how many of the others at the end."""
    most = min(len(a), len(b))
    first = next((n for n in range(most) if a[n] != b[n]), most)
    return first, next((n for n in range(most - first) if a[-1 - n] != b[-1 - n]), most - first)


def _middle(a: list[int], b: list[int], here: range, there: range, rows: Sequence[int]) -> Iterator[Pair]:
    """The pairs between a common beginning and a common end. What only one of them has is left out first."""
    both = {a[i] for i in here} & {b[j] for j in there}
    at, other_at = [i for i in here if a[i] in both], [j for j in there if b[j] in both]
    found = [(at[i], other_at[j]) for i, j in _parted([a[i] for i in at], [b[j] for j in other_at], rows)]
    return reversed(list(_gathered(a, b, reversed(found), here.stop, there.stop)))


def _gathered(a: list[int], b: list[int], last_first: Iterable[Pair], x: int, y: int) -> Iterator[Pair]:
    """As many pairs, each as near to the one after it as the same items are, in step. So what was replaced stands
    between the same two pairs as what replaced it, if it can."""
    for i, j in last_first:
        step = next((n for n in range(1, min(x - i, y - j) + 1) if a[x - n] == b[y - n]), 0)
        x, y = (x - step, y - step) if step else (i, j)
        yield x, y


def _parted(a: list[int], b: list[int], rows: Sequence[int]) -> Iterator[Pair]:
    """The pairs of two lists, which are split if they are too long."""
    if len(a) * len(b) <= _MOST:
        yield from _most_pairs(a, b)
        return
    pairs = _anchors(a, b, rows[0]) if rows else _cuts(len(a), len(b))
    for (i, j), (next_i, next_j) in pairwise([(0, 0), *pairs, (len(a), len(b))]):
        if i < next_i and j < next_j:
            yield from ((i + x, j + y) for x, y in _within(a[i:next_i], b[j:next_j], rows[1:]))


def _anchors(a: list[int], b: list[int], length: int) -> list[Pair]:
    """Where rows of so many items are that occur once in each list. None if they are few, and little could match
    between them: an item that was moved must not keep all others apart."""
    here, there = _once(a, length), _once(b, length)
    found = _rising([(i, j) for row, i in here.items() if (j := there.get(row, -1)) >= 0 and a[i] == b[j]])
    left = sum(min(i - x, j - y) for (x, y), (i, j) in pairwise([(0, 0), *found, (len(a), len(b))]))
    return found if max(4 * len(found), 2 * left) >= min(len(a), len(b)) else []


def _once(items: list[int], length: int) -> dict[int, int]:
    """Where the rows of so many items are that occur once, by their hashes, in order."""
    places: dict[int, int] = {}
    for place, row in enumerate(map(hash, zip(*(items[n:] for n in range(length)), strict=False))):
        places[row] = -1 if row in places else place
    return {row: place for row, place in places.items() if place >= 0}


def _rising(pairs: list[Pair]) -> list[Pair]:
    """The most of the pairs, which are in the order of the first list, that are in the order of the second, too."""
    least: list[int] = []  # with what place in the second list a selection of each length can end
    ends: list[int] = []  # the pair that does
    before: list[int] = []  # the pair before each
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(least, place)
        before.append(ends[length - 1] if length else -1)
        least[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    at, found = ends[-1] if ends else -1, list[Pair]()
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _cuts(here: int, there: int) -> list[Pair]:
    """Where to cut lists of these lengths, in which nothing shows what belongs together: both into as many parts."""
    parts = isqrt(here * there // _MOST) + 1
    return [(here * n // parts, there * n // parts) for n in range(1, parts)]


def _most_pairs(a: list[int], b: list[int]) -> list[Pair]:
    """The longest common subsequence, by the bit-parallel algorithm of Hyyrö (2004): whole numbers stand for the rows
    of its table. A bit of a row is 0 where more items can be matched if the longer list goes up to that place."""
    if len(a) < len(b):
        return [(i, j) for j, i in _most_pairs(b, a)]
    places, row = _masks(a), (1 << len(a)) - 1
    table = [row]
    for item in b:
        matched = row & places[item]
        row = (row + matched | row - matched) & table[0]
        table.append(row)
    found: list[Pair] = []
    end = len(a)
    for j in range(len(b) - 1, -1, -1):
        end = (~table[j + 1] & (1 << end) - 1).bit_length()
        if not end:
            break
        if table[j] >> end - 1 & 1:  # not without this item
            end -= 1
            found.append((end, j))
    return found[::-1]


def _masks(items: list[int]) -> dict[int, int]:
    """Where each item is, as bits."""
    places: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item, []).append(place)
    masks: dict[int, int] = {}
    for item, found in places.items():
        bits = bytearray(len(items) // 8 + 1)
        for place in found:
            bits[place >> 3] |= 1 << (place & 7)
        masks[item] = int.from_bytes(bits, "little")
    return masks
