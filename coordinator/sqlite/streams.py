"""The streams of the SQLite store."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from ..rows import StreamRow


class SqliteStreams:
    """What jobs of one namespace stream, in one transaction."""

    _db: Connection
    _namespace: str
    now: int

    def add_to_stream(self, job_id: str, data: Sequence[bytes], kept: int, until: int) -> None:
        rows = [(self._namespace, job_id, each) for each in data]
        self._db.executemany("INSERT INTO stream (namespace, job, data) VALUES (?, ?, ?)", rows)
        self._db.execute(
            "DELETE FROM stream WHERE job = :job AND number <= "
            "(SELECT number FROM stream WHERE job = :job ORDER BY number DESC LIMIT 1 OFFSET :kept)",
            {"job": job_id, "kept": kept},
        )
        self._db.execute("INSERT OR REPLACE INTO stream_end VALUES (?, ?, ?)", (job_id, self._namespace, until))

    def stream(self, job_id: str, after: int, limit: int) -> list[StreamRow]:
        rows = self._db.execute(
            "SELECT i.number, CASE WHEN r.job = i.job THEN r.data ELSE x'' END FROM stream AS i "
            "JOIN stream AS r ON r.number = i.number WHERE i.job = ? AND i.number > ? AND r.namespace = ? AND EXISTS "
            "(SELECT 1 FROM stream_end WHERE stream_end.job = i.job AND until > ?) ORDER BY i.number LIMIT ?",
            (job_id, after, self._namespace, self.now, limit),
        )
        return [StreamRow(job_id, str(number), data) for number, data in rows]

    def drop_stream(self, job_id: str) -> None:
        self._db.execute("DELETE FROM stream WHERE job = ?", (job_id,))
        self._db.execute("DELETE FROM stream_end WHERE job = ?", (job_id,))

    def drop_old_streams(self, limit: int) -> None:
        old = "SELECT job FROM stream_end WHERE namespace = ? AND until <= ? LIMIT ?"
        for (job_id,) in self._db.execute(old, (self._namespace, self.now, limit)).fetchall():
            self.drop_stream(job_id)
