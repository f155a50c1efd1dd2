"""The items of the model store: a dict, and their paths in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import islice

from ..items import ItemName, ItemRow, name_from
from .places import MemoryPlaces


class MemoryItems(MemoryPlaces):
    """Items by name."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[ItemName, ItemRow] = {}
        self._paths: list[str] = []

    def item(self, name: ItemName) -> ItemRow | None:
        return self._items.get(name)

    def put_item(self, row: ItemRow) -> None:
        if row.name not in self._items:
            insort(self._paths, row.name.path)
        self._items[row.name] = row

    def drop_item(self, name: ItemName) -> None:
        if self._items.pop(name, None):
            del self._paths[bisect_left(self._paths, name.path)]

    def items(self, start: str, end: str, limit: int, skip: int = 0) -> list[ItemRow]:
        places = range(bisect_left(self._paths, start), bisect_left(self._paths, end))
        rows = (self._items[name_from(self._paths[at])] for at in places)
        return list(islice((row for row in rows if row.lives(self.now)), skip, skip + limit))

    def expired_items(self, limit: int) -> list[ItemName]:
        due = [row for row in self._items.values() if not row.lives(self.now)]
        return [row.name for row in sorted(due, key=lambda row: (row.expires, row.name.path))[:limit]]
