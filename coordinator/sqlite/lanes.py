"""The lanes of the SQLite store."""

from __future__ import annotations

from sqlite3 import Connection


class SqliteLanes:
    """Starts of deliveries, and gates, of one namespace's lanes, in one transaction."""

    _db: Connection
    _namespace: str
    now: int

    def holders(self, lane: str, limit: int) -> list[str]:
        which = "SELECT id FROM job WHERE namespace = ? AND slot = ? AND slot <> '' ORDER BY lease <> '', id LIMIT ?"
        return [row[0] for row in self._db.execute(which, (self._namespace, lane, limit))]

    def nth_start(self, lane: str, n: int, after: int) -> int:
        row = self._db.execute(
            "SELECT at FROM start WHERE namespace = ? AND lane = ? AND at > ? ORDER BY at DESC LIMIT 1 OFFSET ?",
            (self._namespace, lane, after, n - 1),
        ).fetchone()
        return row[0] if row else 0

    def add_start(self, lane: str, at: int, until: int) -> None:
        self._db.execute("INSERT INTO start VALUES (?, ?, ?, ?)", (self._namespace, lane, at, until))

    def drop_old_starts(self, limit: int) -> None:
        old = "SELECT rowid FROM start WHERE namespace = ? AND until <= ? LIMIT ?"
        self._db.execute(f"DELETE FROM start WHERE rowid IN ({old})", (self._namespace, self.now, limit))

    def gate(self, lane: str) -> int:
        row = self._db.execute(
            "SELECT at FROM gate WHERE namespace = ? AND lane = ?", (self._namespace, lane)
        ).fetchone()
        return row[0] if row else 0

    def put_gate(self, lane: str, at: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO gate VALUES (?, ?, ?)", (self._namespace, lane, at))

    def drop_gate(self, lane: str) -> None:
        self._db.execute("DELETE FROM gate WHERE namespace = ? AND lane = ?", (self._namespace, lane))

    def due_gates(self, limit: int, *, early: bool = False) -> list[str]:
        until = 2**62 if early else self.now
        due = "SELECT lane FROM gate WHERE namespace = ? AND at <= ? ORDER BY at, lane LIMIT ?"
        return [row[0] for row in self._db.execute(due, (self._namespace, until, limit))]
