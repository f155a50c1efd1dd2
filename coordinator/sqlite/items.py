"""The items of the SQLite store, ordered by an index on their paths as bytes."""

from __future__ import annotations

from typing import Any

from ..items import ItemName, ItemRow, name_from
from .places import SqlitePlaces

# By an index (i) and the row (r) to which it leads. If they differ, one is damaged, and what is there may be another
# item: nothing stands in for its value, which no reader accepts.
_ITEM = (
    "SELECT i.path, CASE WHEN r.namespace = i.namespace AND r.path = i.path THEN r.value ELSE x'' END, "
    "r.created, r.updated, r.ttl, r.expires, r.search FROM item AS i JOIN item AS r ON r.id = i.id "
    "WHERE i.namespace = ?"
)


class SqliteItems(SqlitePlaces):
    """Items of one namespace in one transaction."""

    def item(self, name: ItemName) -> ItemRow | None:
        rows = self._items_where("AND i.path = ?", name.path.encode())
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

    def items(self, start: str, end: str, limit: int, skip: int = 0) -> list[ItemRow]:
        living = "AND i.path >= ? AND i.path < ? AND NOT (r.expires > 0 AND r.expires <= ?) "
        where = f"{living} ORDER BY i.path LIMIT ? OFFSET ?"
        return self._items_where(where, start.encode(), end.encode(), self.now, limit, skip)

    def expired_items(self, limit: int) -> list[ItemName]:
        due = "AND i.expires > 0 AND i.expires <= ? ORDER BY i.expires, i.path LIMIT ?"
        return [row.name for row in self._items_where(due, self.now, limit)]

    def _items_where(self, where: str, *values: Any) -> list[ItemRow]:
        rows = self._db.execute(f"{_ITEM} {where}", (self._namespace, *values))
        return [ItemRow(name_from(path.decode()), *row) for path, *row in rows]
