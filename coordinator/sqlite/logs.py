"""The logs of the SQLite store: pieces of bytes, in order."""

from __future__ import annotations

from collections.abc import Sequence
from sqlite3 import Connection

from ..parts.spans import Append, Span

# A log's number and an offset share an integer key: up to 2^27 logs of 64 GB each.
_ROOM = 1 << 36
# Small pieces are merged when they fill a segment. So a long log is read in few rows, and each byte is written twice at
# most.
_SEGMENT = 16_384


class SqliteLogs:
    """Logs, in one transaction. Their names are minted, so they are unique across namespaces."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._starts: dict[str, int] = {}  # cache, for this transaction

    def log_length(self, log: str) -> int:
        start = self._start(log)
        if start is None:
            return 0
        row = self._db.execute(
            "SELECT place, length(data) FROM piece WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1",
            (start, start + _ROOM),
        ).fetchone()
        return row[0] - start + row[1] if row else 0

    def append_log(self, append: Append) -> None:
        start = self._start(append.log)
        if start is None:
            start = (self._db.execute("INSERT INTO log (name) VALUES (?)", (append.log,)).lastrowid or 0) * _ROOM
            self._starts[append.log] = start
        place, data = start + append.at, append.data
        begun = append.at - append.at % _SEGMENT
        if append.at % _SEGMENT + len(data) >= _SEGMENT:
            rows = self._db.execute(
                "SELECT place, data FROM piece WHERE place >= ? AND place < ? ORDER BY place", (start + begun, place)
            ).fetchall()
            if rows := _together(rows, place):
                self._db.execute("DELETE FROM piece WHERE place >= ? AND place < ?", (rows[0][0], place))
                place, data = rows[0][0], b"".join([*(row[1] for row in rows), data])
        done, stop = 0, _SEGMENT - (place - start) % _SEGMENT
        while done < len(data):
            self._db.execute("INSERT INTO piece VALUES (?, ?)", (place + done, data[done:stop]))
            done, stop = stop, stop + _SEGMENT

    def read_log(self, span: Span) -> bytes:
        start = self._start(span.log)
        if start is None:
            return b""
        first, last = start + span.first, start + span.last
        # The piece with the first byte may begin before it.
        rows = self._db.execute(
            "SELECT place, data FROM piece WHERE place < :last AND place >= coalesce("
            "(SELECT max(place) FROM piece WHERE place <= :first AND place >= :start), :first) ORDER BY place",
            {"last": last, "first": first, "start": start},
        ).fetchall()
        if not rows:
            return b""
        whole = rows[0][1] if len(rows) == 1 else b"".join([row[1] for row in rows])
        skipped = first - rows[0][0]
        return whole[skipped : skipped + last - first] if skipped or len(whole) != last - first else whole

    def use(self, span: Span) -> None:
        start = self._start(span.log)
        if start is not None:
            self._db.execute(
                "INSERT INTO span VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET uses = uses + 1",
                (start // _ROOM, span.first, span.last),
            )

    def disuse(self, span: Span) -> bool:
        where = "WHERE log = (SELECT number FROM log WHERE name = ?) AND first = ? AND last = ?"
        self._db.execute(f"UPDATE span SET uses = uses - 1 {where}", span)
        return self._db.execute(f"DELETE FROM span {where} AND uses <= 0", span).rowcount > 0

    def grown(self, span: Span) -> bool:
        where = "log = (SELECT number FROM log WHERE name = ?) AND first = ? AND last > ?"
        return self._db.execute(f"SELECT 1 FROM span WHERE {where} LIMIT 1", span).fetchone() is not None

    def used(self, log: str) -> list[tuple[int, int]]:
        return self._db.execute(
            "SELECT first, last FROM span WHERE log = (SELECT number FROM log WHERE name = ?) ORDER BY first", (log,)
        ).fetchall()

    def free_log(self, span: Span, used: Sequence[tuple[int, int]]) -> None:
        start = self._start(span.log)
        if start is None:
            return
        if not used:
            self._db.execute("DELETE FROM piece WHERE place >= ? AND place < ?", (start, start + _ROOM))
            self._db.execute("DELETE FROM log WHERE name = ?", (span.log,))
            del self._starts[span.log]
            return
        first, last = start + span.first, start + span.last
        pieces = self._db.execute(
            "SELECT place - ?, length(data) FROM piece WHERE place >= ? AND place < ?",
            (start, max(first - _SEGMENT, start), last),
        ).fetchall()
        for at, length in pieces:
            until = max((min(b, at + length) for a, b in used if a < at + length and b > at), default=0)
            if not until:
                self._db.execute("DELETE FROM piece WHERE place = ?", (start + at,))
            elif until < at + length:
                keep = (until - at, start + at)
                self._db.execute("UPDATE piece SET data = substr(data, 1, ?) WHERE place = ?", keep)

    def _start(self, log: str) -> int | None:
        if log not in self._starts:
            row = self._db.execute("SELECT number FROM log WHERE name = ?", (log,)).fetchone()
            if row is None:
                return None
            self._starts[log] = row[0] * _ROOM
        return self._starts[log]


def _together(rows: list[tuple[int, bytes]], end: int) -> list[tuple[int, bytes]]:
    """The last pieces that are contiguous up to `end`. (What was between earlier ones may have been freed.)"""
    first = len(rows)
    while first and rows[first - 1][0] + len(rows[first - 1][1]) == end:
        first -= 1
        end = rows[first][0]
    return rows[first:]
