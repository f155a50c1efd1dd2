"""An item whose time is over is no longer seen, and reap frees it. A read may restart its time."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench
from tests.harness.items import Items, name
from tests.harness.places import kept


def test_an_expired_item_is_not_seen(bench: Bench) -> None:
    items = Items(bench)
    items.put(name("a"), ttl=MINUTE)
    items.put(name("a", "b"))
    bench.clock.advance(MINUTE - 1)
    assert items.row(name("a")) is not None
    assert (items.names(), items.spaces()) == ([name("a"), name("a", "b")], [("a",), ("a", "b")])
    bench.clock.advance(1)
    assert items.row(name("a")) is None
    assert (items.names(), items.spaces()) == ([name("a", "b")], [("a", "b")])


@pytest.mark.parametrize("prefix", [(), ("a",)])
def test_an_expired_item_is_not_among_what_a_page_passes_over(bench: Bench, prefix: tuple[str, ...]) -> None:
    items = Items(bench)
    some = [name("a", key=f"{number}") for number in range(8)]
    items.put(*some[::2], ttl=MINUTE)
    items.put(*some[1::2])
    bench.clock.advance(MINUTE)
    assert items.names(*prefix, skip=2, limit=1) == some[5::2]


def test_reap_frees_it(bench: Bench) -> None:
    items = Items(bench)
    before = kept(bench)
    items.put(*(name(f"{number}") for number in range(10)), ttl=MINUTE)
    bench.do(c.Reap())
    assert len(items.names()) == 10
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert kept(bench) == before


def test_reap_is_bounded_and_begins_with_the_oldest(bench: Bench) -> None:
    items = Items(bench)
    for number in range(5):
        items.put(name("a", key=f"{number}"), ttl=(9 - number) * 1000)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap(limit=2)).left
    bench.clock.advance(-MINUTE)
    assert [n.key for n in items.names()] == ["0", "1", "2"]
    bench.clock.advance(MINUTE)
    assert not bench.do(c.Reap(limit=3)).left


def test_time_begins_anew(bench: Bench) -> None:
    """With each put, and when somebody asks for it."""
    items = Items(bench)
    items.put(name("a"), name("b"), name("c"), ttl=MINUTE)
    bench.clock.advance(MINUTE - 1)
    items.put(name("a"), ttl=MINUTE)
    bench.do(c.RefreshItems((name("b"), name("never"))))
    bench.clock.advance(MINUTE - 1)
    bench.do(c.Reap())
    assert items.names() == [name("a"), name("b")]
    bench.clock.advance(1)
    assert items.names() == []


def test_what_is_refreshed_is_otherwise_as_it_was(bench: Bench) -> None:
    items, now = Items(bench), bench.clock.now
    items.put(name("a"), ttl=MINUTE, index=b"i")
    items.put(name("b"))
    bench.clock.advance(5)
    bench.do(c.RefreshItems((name("a"), name("b"))))
    [[one, other]] = items.pages(indexed=True)
    assert (one.created, one.updated, one.ttl, one.expires, one.index) == (now, now, MINUTE, now + 5 + MINUTE, b"i")
    assert (other.ttl, other.expires) == (0, 0)


def test_what_is_over_is_not_refreshed(bench: Bench) -> None:
    items = Items(bench)
    items.put(name("a"), ttl=MINUTE)
    bench.clock.advance(MINUTE)
    with bench.nothing_changes():
        bench.do(c.RefreshItems((name("a"),)))


def test_a_put_after_its_time_is_a_new_item(bench: Bench) -> None:
    items = Items(bench)
    items.put(name("a"), ttl=MINUTE)
    bench.clock.advance(MINUTE)
    now = bench.clock.now
    items.put(name("a"))
    row = items.row(name("a"))
    assert row is not None
    assert (row.created, row.expires) == (now, 0)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert items.names() == [name("a")]


def test_many_that_are_over_lie_between(bench: Bench) -> None:
    """More than a page may look at."""
    items = Items(bench)
    for part in range(0, 1200, 400):
        items.put(*(name("a", f"{number:04}") for number in range(part, part + 400)), ttl=MINUTE)
    items.put(name("a", "9999"), name("b"))
    bench.clock.advance(MINUTE)
    assert items.names("a") == [name("a", "9999")]
    assert items.names() == [name("a", "9999"), name("b")]
    assert items.spaces() == [("a", "9999"), ("b",)]
