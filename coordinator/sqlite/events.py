"""The events of the SQLite store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from sqlite3 import Connection
from typing import Any

from ..rows import EVENTS_PER_MS, ConsumerGroup, EventRow

_UNREADABLE = {"type": "", "subject": ""}
_JSON = json.JSONEncoder(separators=(",", ":"))
_NO_END = (1 << 63) - 1
_NOTED = 1000  # how many events are counted again at most, before it is written down how many there are


def _fields(text: str) -> dict[str, str]:
    """An event's fields. Of one that is damaged, none: who reads it is told, and can read on."""
    try:
        fields: Any = json.loads(text)
        whole = fields.keys() >= _UNREADABLE.keys() and all(isinstance(value, str) for value in fields.values())
        return fields if whole else _UNREADABLE
    except (ValueError, AttributeError):
        return _UNREADABLE


class SqliteEvents:
    """Events of one namespace, in one transaction."""

    _db: Connection
    _namespace: str
    now: int
    told = False
    """Whether it has added any."""
    _last = 0  # number of the newest, once it was looked up in this transaction

    def add_event(self, fields: Mapping[str, str]) -> int:
        self.told = True
        # By the time, so that no number comes again after a backup was restored or a namespace deleted: who goes on
        # from an earlier cursor would miss what has the numbers of what is gone.
        self._last = max((self._last or self._newest()) + 1, self.now * EVENTS_PER_MS)
        row = (self._namespace, self._last, _JSON.encode({**fields, "time": str(self.now)}))
        self._db.execute("INSERT INTO event VALUES (?, ?, ?)", row)
        return self._last

    def _newest(self) -> int:
        """The number of the newest event, trimmed or not."""
        last = "(SELECT max(number) FROM event WHERE namespace = :namespace)"
        trimmed = "(SELECT trimmed FROM event_trim WHERE namespace = :namespace)"
        row = self._db.execute(f"SELECT coalesce({last}, {trimmed}, 0)", {"namespace": self._namespace}).fetchone()
        return int(row[0])

    def events(self, after: str, limit: int) -> list[EventRow]:
        rows = self._db.execute(
            "SELECT number, fields FROM event WHERE namespace = ? AND number > ? ORDER BY number LIMIT ?",
            (self._namespace, int(after or 0), limit),
        )
        return [EventRow(str(number), _fields(text)) for number, text in rows]

    def last_event(self) -> str:
        row = self._db.execute("SELECT max(number) FROM event WHERE namespace = ?", (self._namespace,)).fetchone()
        return str(row[0] or 0)

    def trimmed(self) -> str:
        return str(self._trim()[0])

    def trim_events(self, keep: int, limit: int) -> int:
        trimmed, kept, counted = self._trim()
        added = self.count_events(counted)
        kept += added
        over = min(max(kept - keep, 0), limit)
        if not over and added < _NOTED:
            return 0
        if over:
            trimmed = self._db.execute(
                "SELECT number FROM event WHERE namespace = ? ORDER BY number LIMIT 1 OFFSET ?",
                (self._namespace, over - 1),
            ).fetchone()[0]
            self._db.execute("DELETE FROM event WHERE namespace = ? AND number <= ?", (self._namespace, trimmed))
        row = (self._namespace, trimmed, kept - over, int(self.last_event()))
        self._db.execute("INSERT OR REPLACE INTO event_trim VALUES (?, ?, ?, ?)", row)
        return over

    def count_events(self, after: int, last: int | None = None) -> int:
        count = "SELECT count(*) FROM event WHERE namespace = ? AND number > ? AND number <= ?"
        return int(self._db.execute(count, (self._namespace, after, _NO_END if last is None else last)).fetchone()[0])

    def group(self, name: str) -> ConsumerGroup | None:
        found = self._groups_where("name = ?", name)
        return found[0] if found else None

    def groups(self) -> list[ConsumerGroup]:
        return self._groups_where("1 ORDER BY name")

    def _groups_where(self, where: str, *values: str) -> list[ConsumerGroup]:
        query = f"SELECT name, front, batches, about FROM consumer_group WHERE namespace = ? AND {where}"
        rows = self._db.execute(query, (self._namespace, *values))
        return [
            ConsumerGroup(name, front, {id_: tuple(batch) for id_, batch in json.loads(batches).items()}, about)
            for name, front, batches, about in rows
        ]

    def put_group(self, row: ConsumerGroup) -> None:
        values = (self._namespace, row.name, row.front, json.dumps(row.batches), row.about)
        self._db.execute("INSERT OR REPLACE INTO consumer_group VALUES (?, ?, ?, ?, ?)", values)

    def drop_group(self, name: str) -> None:
        self._db.execute("DELETE FROM consumer_group WHERE namespace = ? AND name = ?", (self._namespace, name))

    def _trim(self) -> tuple[int, int, int]:
        """The number up to which events were trimmed, how many were left at the last count, and up to which number."""
        row: tuple[int, int, int] | None = self._db.execute(
            "SELECT trimmed, kept, counted FROM event_trim WHERE namespace = ?", (self._namespace,)
        ).fetchone()
        return row or (0, 0, 0)
