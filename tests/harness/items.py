"""Items of a store, through commands."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemName, ItemRow
from tests.harness.bench import Bench

# Labels and keys that a store might take for others: parts of paths, of keys, of patterns, of escapes.
HOSTILE = ["a", "a.b", "a:b", "a\0", "a\0b", "a\1", "a\2", "a\3", "\0", "\1", "\2", "\x7f", "*", "{a}", "é", "😀", " "]


def name(*labels: str, key: str = "k") -> ItemName:
    """An item's name."""
    return ItemName(labels, key)


class Items:
    """Somebody who keeps items."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def put(self, *names: ItemName, value: bytes | None = None, ttl: int = 0, index: bytes = b"") -> None:
        """Put items in one write; their value, by default, is their path."""
        self.bench.do(c.WriteItems(tuple(ItemChange(n, value or n.path.encode(), index, ttl) for n in names)))

    def delete(self, *names: ItemName) -> None:
        """Delete items in one write."""
        self.bench.do(c.WriteItems(tuple(ItemChange(n, None) for n in names)))

    def row(self, item: ItemName) -> ItemRow | None:
        """An item as it is read."""
        [found] = self.bench.do(c.ReadItems((item,)))
        return found

    def pages(self, *prefix: str, limit: int = 100, indexed: bool = False, skip: int = 0) -> list[list[ItemRow]]:
        """All items under labels, but for the first `skip`, page by page."""
        found: list[list[ItemRow]] = []
        start = ""
        while start or not found:
            page = self.bench.do(c.ListItems(prefix, start, limit, indexed, skip))
            assert len(page.rows) <= limit
            assert page.start > start or not page.start
            assert page.skip <= (skip if page.start and not page.rows else 0)
            found.append(page.rows)
            start, skip = page.start, page.skip
        return found

    def names(self, *prefix: str, limit: int = 100, skip: int = 0) -> list[ItemName]:
        """The names of all items under labels, but for the first `skip`, in order."""
        return [row.name for page in self.pages(*prefix, limit=limit, skip=skip) for row in page]

    def spaces(self, *prefix: str, limit: int = 500) -> list[tuple[str, ...]]:
        """All labels with items."""
        found: list[tuple[str, ...]] = []
        start, first = "", True
        while start or first:
            page = self.bench.do(c.ListSpaces(prefix, start, limit))
            assert len(page.spaces) <= limit
            found += page.spaces
            start, first = page.start, False
        return found
