"""Items live in the partition of their first label; lists without one ask all."""

from __future__ import annotations

import pytest

from batonpass.contracts.names import home
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench
from tests.harness.items import Items, name

SOME = [name(f"space {number % 40}", key=f"{number}") for number in range(120)]


def test_they_are_spread(bench: Bench) -> None:
    items = Items(bench)
    items.put(*SOME)
    assert len({home(one.labels[0]) % 16 for one in SOME}) > 8
    rows = bench.do(c.ReadItems(tuple(SOME[::-1])))
    assert [row and row.name for row in rows] == SOME[::-1]
    items.delete(*SOME[::2])
    assert items.names() == sorted(SOME[1::2])


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_of_all_are_in_one_order(bench: Bench, limit: int) -> None:
    items = Items(bench)
    items.put(*SOME)
    items.put(*(name(f"gone {number}") for number in range(40)), ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert items.names(limit=limit) == sorted(SOME)
    assert items.spaces(limit=limit) == sorted({one.labels for one in SOME})


def test_a_partition_that_is_behind_holds_the_others_back(bench: Bench) -> None:
    """What it will still give may come before what they gave."""
    items = Items(bench)
    behind = [name(SOME[0].labels[0], key=f"{number:04}") for number in range(600)]
    items.put(*behind[:300], ttl=MINUTE)
    items.put(*behind[300:], ttl=MINUTE)
    items.put(*SOME)
    bench.clock.advance(MINUTE)
    assert items.names() == sorted(SOME)
    assert items.spaces() == sorted({one.labels for one in SOME})
