"""The places of the SQLite store, ordered by an index that keeps a scope together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from sqlite3 import Connection, IntegrityError
from typing import Any

from xxhash import xxh3_64_intdigest

from ...contracts.errors import Corrupted
from ..rows import CheckpointRow, Place, Write
from ..seals import read_commit
from .commit_lines import unpacked
from .logs import SqliteLogs

# Scopes, their places, and the checkpoints there. The query must look them up in this order.
_PLACES = "scope AS s CROSS JOIN place AS p ON p.scope = s.number"
_CHECKPOINT = (
    "CROSS JOIN checkpoint AS c ON c.namespace = s.namespace AND c.thread = s.thread AND c.step_index = p.step_index"
)
_PLACED = f"{_PLACES} {_CHECKPOINT}"
_SUMMARY = "c.id, c.thread, c.header, CAST(c.commit_line AS BLOB), c.name"
_THREAD = "s.namespace = ? AND s.thread = ?"
_AT_ONCE = 16  # writes per statement
_LIVING = "NOT (c.expires > 0 AND c.expires <= ?)"


class SqlitePlaces(SqliteLogs):
    """Places of one namespace in one transaction."""

    def __init__(self, connection: Connection, namespace: str, now: int) -> None:
        super().__init__(connection)
        self._namespace = namespace
        self.now = now
        # A cache for this command, because most puts go on from the latest place.
        self._scopes: dict[tuple[str, str], int] = {}
        self._ids: dict[tuple[int, str], int] = {}
        self._latest: dict[tuple[str, str, str], str] = {}

    def place(self, thread: str, scope: str, key: str) -> str:
        if (thread, scope, key) in self._latest:
            return self._latest[thread, scope, key]
        row = self._db.execute(
            f"SELECT c.id FROM {_PLACED} WHERE {_THREAD} AND s.name = ? AND p.key = ?",
            (self._namespace, thread, scope, key),
        ).fetchone()
        return row[0] if row else ""

    def latest_key(self, thread: str, scope: str) -> str | None:
        row = self._db.execute(
            f"SELECT p.key, c.id, p.id, s.number FROM {_PLACED} "
            f"WHERE {_THREAD} AND s.name = ? AND {_LIVING} ORDER BY p.key DESC LIMIT 1",
            (self._namespace, thread, scope, self.now),
        ).fetchone()
        if row is None:
            return None
        key, checkpoint_id, id_, number = row
        self._scopes[thread, scope], self._ids[number, key] = number, id_
        self._latest[thread, scope, key] = checkpoint_id
        return str(key)

    def put_place(self, thread: str, place: Place, checkpoint_id: str, step_index: int) -> str:
        where = (self._made_scope(thread, place.scope), place.key)
        what = (step_index, _hashed(place.run))
        self._latest.clear()
        new = "INSERT OR IGNORE INTO place (scope, key, step_index, run) VALUES (?, ?, ?, ?)"
        if self._db.execute(new, (*where, *what)).rowcount:
            return ""
        before = self.place(thread, place.scope, place.key)
        self._db.execute("UPDATE place SET step_index = ?, run = ? WHERE scope = ? AND key = ?", (*what, *where))
        return before

    def place_of(self, row: CheckpointRow) -> tuple[str, str] | None:
        found: tuple[str, str] | None = self._db.execute(
            f"SELECT s.name, p.key FROM {_PLACED} WHERE {_THREAD} AND c.id = ?", (self._namespace, row.thread, row.id)
        ).fetchone()
        return found

    def drop_place(self, thread: str, scope: str, key: str) -> list[str]:
        number, id_ = self._db.execute(
            f"SELECT s.number, p.id FROM {_PLACES} WHERE {_THREAD} AND s.name = ? AND p.key = ?",
            (self._namespace, thread, scope, key),
        ).fetchone()
        spans = [row[0] for row in self._db.execute("SELECT spans FROM write WHERE place = ? AND spans <> ''", (id_,))]
        self._db.execute("DELETE FROM write WHERE place = ?", (id_,))
        self._db.execute("DELETE FROM place WHERE id = ?", (id_,))
        unused = (
            "DELETE FROM scope WHERE number = ? AND NOT EXISTS (SELECT 1 FROM place WHERE place.scope = scope.number)"
        )
        self._db.execute(unused, (number,))
        self._scopes.pop((thread, scope), None)
        self._ids.clear()
        self._latest.clear()
        return spans

    def places(self, thread: str, limit: int) -> list[tuple[str, str]]:
        query = f"SELECT s.name, p.key FROM {_PLACES} WHERE {_THREAD} ORDER BY s.name, p.key LIMIT ?"
        return self._db.execute(query, (self._namespace, thread, limit)).fetchall()

    def placed(
        self,
        thread: str,
        scope: str | None,
        limit: int,
        *,
        key: str | None = None,
        before: tuple[str, str] | None = None,
        whole: bool = False,
    ) -> list[tuple[Place, CheckpointRow]]:
        where, values = "", list[Any]()
        for condition, value in (
            ("s.name = ?", None if scope is None else (scope,)),
            ("p.key = ?", None if key is None else (key,)),
            ("p.key <= ? AND (p.key, s.name) < (?, ?)", before and (before[0], *before)),
        ):
            if value is not None:
                where += f" AND {condition}"
                values += value
        body = "c.state, c.native" if whole else "x'', x''"
        rows = self._db.execute(
            f"SELECT s.name, p.key, {_SUMMARY}, {body} FROM {_PLACED} WHERE {_THREAD} {where} AND {_LIVING} "
            f"ORDER BY p.key DESC{', s.name DESC' if scope is None else ''} LIMIT ?",
            (self._namespace, thread, *values, self.now, limit),
        )
        found = [(name, at, checkpoint_row(*row)) for name, at, *row in rows]
        return [(Place(name, at, _run(row)), row) for name, at, row in found]

    def writes(self, thread: str, scope: str, key: str) -> list[Write]:
        rows = self._db.execute(
            f"SELECT w.name, CASE WHEN r.scope = p.scope AND r.key = p.key THEN w.data ELSE x'' END, w.spans "
            f"FROM {_PLACES} JOIN place AS r ON r.id = p.id JOIN write AS w ON w.place = r.id "
            f"WHERE {_THREAD} AND s.name = ? AND p.key = ?",
            (self._namespace, thread, scope, key),
        )
        return [Write(*row) for row in rows]

    def put_writes(self, thread: str, scope: str, key: str, writes: Sequence[Write]) -> list[str | None]:
        where = (self._made_scope(thread, scope), key)
        id_ = self._ids.get(where) or self._make_place(where)
        return [
            before for at in range(0, len(writes), _AT_ONCE) for before in self._put(id_, writes[at : at + _AT_ONCE])
        ]

    def _make_place(self, where: tuple[int, str]) -> int:
        row = self._db.execute("SELECT id FROM place WHERE scope = ? AND key = ?", where).fetchone()
        if row:
            return int(row[0])
        return self._db.execute("INSERT INTO place (scope, key) VALUES (?, ?)", where).lastrowid or 0

    def _put(self, place: int, writes: Sequence[Write]) -> list[str | None]:
        """Add the place in the same statement, unless it exists: a statement costs about as much as what it writes."""
        if any(write.gone for write in writes):
            return [self._put_write(place, write) for write in writes]
        rows = ", ".join(["(?, ?, ?, ?)"] * len(writes))
        values = [value for write in writes for value in (place, write.name, write.data, write.spans)]
        try:
            self._db.execute(f"INSERT INTO write VALUES {rows}", values)
        except IntegrityError:
            return [self._put_write(place, write) for write in writes]
        return [""] * len(writes)

    def _put_write(self, place: int, write: Write) -> str | None:
        row = (place, write.name, write.data, write.spans)
        where = "WHERE place = ? AND name = ?"
        if write.gone:
            found = self._db.execute(f"SELECT spans FROM write {where}", row[:2]).fetchone()
            self._db.execute(f"DELETE FROM write {where}", row[:2])
            return found[0] if found else None
        if self._db.execute("INSERT OR IGNORE INTO write VALUES (?, ?, ?, ?)", row).rowcount:
            return ""
        if not write.again:
            return None
        before: str = self._db.execute(f"SELECT spans FROM write {where}", row[:2]).fetchone()[0]
        self._db.execute(f"UPDATE write SET data = ?, spans = ? {where}", (*row[2:], *row[:2]))
        return before

    def of_run(self, run: str, limit: int) -> list[tuple[str, str]]:
        rows = self._db.execute(
            f"SELECT {_SUMMARY} FROM place AS p CROSS JOIN scope AS s ON s.number = p.scope {_CHECKPOINT} "
            "WHERE p.run = ? AND s.namespace = ? ORDER BY c.thread, c.id",
            (_hashed(run), self._namespace),
        )
        found = (checkpoint_row(*row) for row in rows)
        return list(islice(((row.thread, row.id) for row in found if _run(row) == run), limit))

    def _made_scope(self, thread: str, name: str) -> int:
        if (thread, name) not in self._scopes:
            self._scopes[thread, name] = self._make_scope(thread, name)
        return self._scopes[thread, name]

    def _make_scope(self, thread: str, name: str) -> int:
        where = (self._namespace, thread, name)
        query = "SELECT number FROM scope WHERE namespace = ? AND thread = ? AND name = ?"
        row = self._db.execute(query, where).fetchone()
        if row:
            return int(row[0])
        return self._db.execute("INSERT INTO scope (namespace, thread, name) VALUES (?, ?, ?)", where).lastrowid or 0


def _hashed(run: str) -> int | None:
    return xxh3_64_intdigest(run.encode()) - 2**63 if run else None


def _run(row: CheckpointRow) -> str:
    """The run that put a checkpoint, from its commit line. "" if that is damaged."""
    try:
        place = read_commit(row.commit, row.id).place
    except Corrupted:
        return ""
    return place.run if place else ""


def checkpoint_row(
    id_: str, thread: str, header: bytes, commit: bytes, name: str, state: bytes = b"", native: bytes = b""
) -> CheckpointRow:
    """A checkpoint whose stored commit line was read as bytes."""
    return CheckpointRow(id_, thread, header, unpacked(commit).decode("utf-8", "replace"), state, native, (), name)
