"""Which items two lists have in common: as many as can be, whatever the lists hold, in bounded work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batonpass.contracts import matching as module
from batonpass.contracts.matching import matching

few = st.lists(st.integers(0, 3), max_size=14)


def most(a: list[Any], b: list[Any]) -> int:
    """The length of the longest common subsequence, as it is defined."""
    above = [0] * (len(b) + 1)
    for item in a:
        row = [0]
        for j, other in enumerate(b):
            row.append(above[j] + 1 if item == other else max(above[j + 1], row[j]))
        above = row
    return above[-1]


def check(a: list[Any], b: list[Any], pairs: list[tuple[int, int]]) -> None:
    """The pairs are of the same items, in the order of both lists."""
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < x and j < y for (i, j), (x, y) in pairwise(pairs))


@given(few, few)
def test_no_more_can_be_matched(a: list[int], b: list[int]) -> None:
    pairs = list(matching(a, b))
    check(a, b, pairs)
    assert len(pairs) == most(a, b)


@given(few, few, st.integers(1, 40))
def test_pairs_of_lists_that_were_split(a: list[int], b: list[int], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST", limit)
        patch.setattr(module, "_ROWS", (3, 2, 1))
        pairs = list(matching(a, b))
    check(a, b, pairs)
    if a == b:
        assert len(pairs) == len(a)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The sizes of the tables that are made: all work that is not in proportion to the lists' lengths."""
    sizes: list[int] = []
    made = module._most_pairs

    def noting(a: list[int], b: list[int]) -> list[tuple[int, int]]:
        if len(a) >= len(b):  # otherwise it calls itself
            sizes.append(len(a) * len(b))
        return made(a, b)

    monkeypatch.setattr(module, "_most_pairs", noting)
    yield sizes
    assert max(sizes, default=0) <= module._MOST


def test_what_differs_wholly_is_no_work(tables: list[int]) -> None:
    assert not list(matching(range(5000), range(5000, 10_000)))
    assert sum(tables) == 0


def test_a_few_edits_of_a_very_long_list(tables: list[int]) -> None:
    rng = random.Random(5)
    for kinds in (10**9, 5):
        old = [rng.randrange(kinds) for _ in range(100_000)]
        new = list(old)
        for edit in range(10):
            place = rng.randrange(len(new))
            new[place : place + (edit % 3 > 0)] = [-edit] * (edit % 3 < 2)  # adds, replaces, removes
        pairs = list(matching(old, new))
        check(old, new, pairs)
        assert len(pairs) == len(old) - 6
    assert sum(tables) < 100_000


def test_a_window_that_slides(tables: list[int]) -> None:
    assert list(matching(range(30_000), range(1000, 31_000))) == [(n, n - 1000) for n in range(1000, 30_000)]
    assert sum(tables) == 0


def test_lists_of_repeating_items_in_which_nothing_occurs_once(tables: list[int]) -> None:
    old, new = [n % 2 for n in range(30_000)], [(1, 0, 2)[n % 3] for n in range(30_000)]
    pairs = list(matching(old, new))
    check(old, new, pairs)
    assert len(pairs) > 19_000  # of 20,000
    assert sum(tables) <= 4 * module._MOST


def test_an_item_that_moved_does_not_keep_the_others_apart(tables: list[int]) -> None:
    old, new = ["x", *["tick"] * 30_000, "old"], [*["tick"] * 30_000, "x", "new"]
    pairs = list(matching(old, new))
    check(old, new, pairs)
    assert len(pairs) > 29_900
    assert sum(tables) <= 10 * module._MOST


def test_parts_that_changed_places(tables: list[int]) -> None:
    old, order = list(range(36_000)), (3, 0, 6, 1, 8, 4, 2, 7, 5)
    new = [4000 * part + n for part in order for n in range(4000)]
    pairs = list(matching(old, new))
    check(old, new, pairs)
    assert len(pairs) == 4 * 4000
    assert sum(tables) == 0


def test_what_was_replaced_stands_where_its_successor_does() -> None:
    """Of the ways to match as many items, one is taken in which items are replaced rather than removed and added."""
    assert list(matching([9, 1, 7, 1, 8, 5], [9, 1, 6, 1, 8, 4])) == [(0, 0), (1, 1), (3, 3), (4, 4)]
    assert list(matching([4, 4, 5, 1, 7], [6, 4, 4, 4, 5, 2, 7])) == [(0, 2), (1, 3), (2, 4), (4, 6)]
    assert list(matching([2, 5, 5, 5, 9, 1], [2, 0, 8, 5, 5, 9, 3])) == [(0, 0), (2, 3), (3, 4), (4, 5)]
