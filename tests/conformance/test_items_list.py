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
