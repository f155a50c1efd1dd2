"""Items are put, read and deleted together, and each only by its own name."""

from __future__ import annotations

import itertools

from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemRow
from tests.harness.bench import MINUTE, Bench
from tests.harness.items import HOSTILE, Items, name
from tests.harness.places import kept


def test_what_was_put_is_read(bench: Bench) -> None:
    items, now = Items(bench), bench.clock.now
    items.put(name("users", "ann"), value=b"v" * 3000, index=b"i")
    assert items.row(name("users", "ann")) == ItemRow(name("users", "ann"), b"v" * 3000, now, now)
    nothing = (name("users"), name("users", "ann", key="other"), name("users", "ann", "more"), name("ann", "users"))
    assert bench.do(c.ReadItems(nothing)) == [None] * 4


def test_answers_are_in_the_order_of_the_question(bench: Bench) -> None:
    items = Items(bench)
    some = [name(f"space {number}", key=str(number)) for number in range(20)]
    items.put(*some)
    mixed = (*some[::-1], name("nowhere"), some[3], some[3])
    assert [row and row.name for row in bench.do(c.ReadItems(mixed))] == [*some[::-1], None, some[3], some[3]]


def test_a_new_value_keeps_the_time_of_creation(bench: Bench) -> None:
    items, now = Items(bench), bench.clock.now
    items.put(name("a"), ttl=MINUTE)
    bench.clock.advance(5)
    items.put(name("a"), value=b"new")
    assert items.row(name("a")) == ItemRow(name("a"), b"new", now, now + 5)


def test_one_that_was_deleted_begins_anew(bench: Bench) -> None:
    items, now = Items(bench), bench.clock.now
    before = kept(bench)
    items.put(name("a"), name("b"), ttl=MINUTE)
    items.delete(name("a"), name("b"), name("never"))
    assert kept(bench) == before
    assert bench.do(c.ReadItems((name("a"), name("b")))) == [None, None]
    bench.clock.advance(5)
    items.put(name("a"))
    row = items.row(name("a"))
    assert row is not None
    assert row.created == now + 5


def test_puts_and_deletes_at_once(bench: Bench) -> None:
    """Of several changes of one item the last one counts."""
    items = Items(bench)
    items.put(name("a", key="old"), name("a", key="both"))
    changes = [("old", None), ("new", b"1"), ("both", None), ("both", b"2"), ("gone", b"3"), ("gone", None)]
    bench.do(c.WriteItems(tuple(ItemChange(name("a", key=key), value) for key, value in changes)))
    assert {row.name.key: row.value for page in items.pages() for row in page} == {"new": b"1", "both": b"2"}


def test_nothing_to_do(bench: Bench) -> None:
    with bench.nothing_changes():
        bench.do(c.WriteItems(()))
        bench.do(c.RefreshItems(()))
        assert bench.do(c.ReadItems(())) == []


def test_hostile_names_are_different_items(bench: Bench) -> None:
    items = Items(bench)
    some = [name(first, key=key) for first, key in itertools.product(HOSTILE, HOSTILE)]
    some += [name(first, second) for first, second in itertools.product(HOSTILE, HOSTILE)]
    items.put(*some[:300])
    items.put(*some[300:])
    for at in range(0, len(some), 300):
        rows = bench.do(c.ReadItems(tuple(some[at : at + 300])))
        assert [row and (row.name, row.value) for row in rows] == [(n, n.path.encode()) for n in some[at : at + 300]]
    assert items.names() == sorted(some)
    for label in HOSTILE:
        assert items.names(label) == sorted(n for n in some if n.labels[0] == label)
    assert items.spaces() == sorted({n.labels for n in some})


def test_namespaces_do_not_mix(bench: Bench) -> None:
    Items(bench).put(name("a"))
    with bench.beside("other") as other:
        items = Items(other)
        assert (items.row(name("a")), items.names(), items.spaces()) == (None, [], [])
