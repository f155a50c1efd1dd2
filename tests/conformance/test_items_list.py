"""Items and their labels are listed in one order, page by page, whatever happens between the pages."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.items import BEHIND, ItemChange
from tests.harness.bench import Bench
from tests.harness.items import Items, name

TREE = [
    *(name("users", f"u{number}", "notes", key=key) for number in range(6) for key in "abc"),
    *(name("users", key=key) for key in ("", "x", "z")),
    *(name(f"app {number}", "deep", "er") for number in range(6)),
    name("user", "s"),
    name("users2"),
]


@pytest.fixture
def items(bench: Bench) -> Items:
    made = Items(bench)
    made.put(*TREE[::-1])
    return made


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("prefix", [(), ("users",), ("users", "u3"), ("users", "u3", "notes"), ("user",), ("none",)])
def test_pages(items: Items, prefix: tuple[str, ...], limit: int) -> None:
    there = sorted(one for one in TREE if one.labels[: len(prefix)] == prefix)
    assert items.names(*prefix, limit=limit) == there
    assert items.spaces(*prefix, limit=limit) == sorted({one.labels for one in there})


@pytest.mark.parametrize("skip", [1, 4, 19, 200])
@pytest.mark.parametrize("prefix", [(), ("users",), ("users", "u3")])
def test_what_a_page_passes_over(items: Items, prefix: tuple[str, ...], skip: int) -> None:
    there = sorted(one for one in TREE if one.labels[: len(prefix)] == prefix)
    assert items.names(*prefix, limit=3, skip=skip) == there[skip:]
    first = items.bench.do(c.ListItems(prefix, "", 3))
    assert (
        items.bench.do(c.ListItems(prefix, first.start, 3, skip=skip)).rows
        == items.bench.do(c.ListItems(prefix, "", 3, skip=3 + skip)).rows
    )


@pytest.mark.parametrize("prefix", [(), ("a",)])
def test_a_page_passes_over_many(bench: Bench, prefix: tuple[str, ...]) -> None:
    """In several steps on Redis."""
    items = Items(bench)
    many = [name("a", key=f"{number:04}") for number in range(1300)]
    for at in range(0, 1300, 500):
        items.put(*many[at : at + 500])
    assert items.names(*prefix, skip=1190) == many[1190:]
    assert items.names(*prefix, skip=1300) == items.names(*prefix, skip=2**53) == []


def test_a_list_goes_on_after_what_was_deleted_and_added(items: Items) -> None:
    page = items.bench.do(c.ListItems(("users",), "", 4))
    items.delete(*(row.name for row in page.rows), *[name("users", "u0", "notes", key="b")])
    items.put(name("users", "u0", "notes", key="aa"), name("users", key="before"))
    left = [row.name for row in items.bench.do(c.ListItems(("users",), page.start)).rows]
    assert left[:2] == [name("users", "u0", "notes", key="aa"), name("users", "u0", "notes", key="c")]
    assert page.start == page.rows[-1].name.path + BEHIND


def test_what_searches_look_at_comes_when_asked_for(bench: Bench) -> None:
    items = Items(bench)
    items.put(name("a"), index=b"vector")
    items.put(name("b"))
    assert [row.index for page in items.pages() for row in page] == [b"", b""]
    assert [row.index for page in items.pages(indexed=True) for row in page] == [b"vector", b""]
    items.put(name("a"))
    assert [row.index for page in items.pages(indexed=True) for row in page] == [b"", b""]


def test_large_items_come_in_smaller_pages_or_one(bench: Bench) -> None:
    items = Items(bench)
    some = [name("a", key=f"{number}") for number in range(6)]
    for one in some:
        bench.do(c.WriteItems((ItemChange(one, b"v" * 600_000),)))
    assert items.names("a") == some
    assert items.names() == some
