"""The items of the SQLite store, ordered by an index on their paths as bytes."""

from __future__ import annotations

from typing import Any

from ..items import ItemName, ItemRow, name_from
from .places import SqlitePlaces

_ITEM = "SELECT path, value, created, updated, ttl, expires, search FROM item WHERE namespace = ?"


class SqliteItems(SqlitePlaces):
    """Items of one namespace in one transaction."""

    def item(self, name: ItemName) -> ItemRow | None:
        rows = self._items_where("AND path = ?", name.path.encode())
        return rows[0] if rows else None

    def put_item(self, row: ItemRow) -> None:
        times = (row.created, row.updated, row.ttl, row.expires)
        self._db.execute(
            "INSERT INTO item (namespace, path, created, updated, ttl, expires, value, search) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET created = excluded.created, "
            "updated = excluded.updated, ttl = excluded.ttl, expires = excluded.expires, value = excluded.value, "
            "search = excluded.search",
            (self._namespace, row.name.path.encode(), *times, row.value, row.index),
        )

    def drop_item(self, name: ItemName) -> None:
        where = (self._namespace, name.path.encode())
        self._db.execute("DELETE FROM item WHERE namespace = ? AND path = ?", where)

    def items(self, start: str, end: str, limit: int) -> list[ItemRow]:
        where = "AND path >= ? AND path < ? AND NOT (expires > 0 AND expires <= ?) ORDER BY path LIMIT ?"
        return self._items_where(where, start.encode(), end.encode(), self.now, limit)

    def expired_items(self, limit: int) -> list[ItemName]:
        due = "AND expires > 0 AND expires <= ? ORDER BY expires, path LIMIT ?"
        return [row.name for row in self._items_where(due, self.now, limit)]

    def _items_where(self, where: str, *values: Any) -> list[ItemRow]:
        rows = self._db.execute(f"{_ITEM} {where}", (self._namespace, *values))
        return [ItemRow(name_from(path.decode()), *row) for path, *row in rows]
