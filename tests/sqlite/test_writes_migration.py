"""A file of schema 8 keeps its writes, and has a page for several of them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import draft
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.sqlite.older import made_by

_WRITES = [Write(f"{number:02}", os.urandom(600)) for number in range(30)]  # three fit a page


def test_an_older_file_keeps_its_writes(tmp_path: Path) -> None:
    newer, path = tmp_path / "newer.db", tmp_path / "older.db"
    _put(newer)
    _put_writes(newer, _WRITES)
    made_by(8, path, newer)
    assert _overflowing(path) == len(_WRITES)
    _put_writes(path, [Write("00", b"ignored"), Write("01", b"replaced", again=True)])
    assert _overflowing(path) == 0
    first, _, *others = _WRITES
    assert _written(path) == [first, Write("01", b"replaced"), *others]


def _put(path: Path) -> None:
    new = draft(Snapshot(step="step", state="a"), thread="run", agent="write", place=Place("", "a")).new
    with closing(SqliteStore(str(path), "default")) as store:
        store.call(c.Put(new))


def _put_writes(path: Path, writes: list[Write]) -> None:
    with closing(SqliteStore(str(path), "default")) as store:
        store.call(c.PutWrites("run", "", "a", writes))


def _written(path: Path) -> list[Write]:
    with closing(SqliteStore(str(path), "default")) as store:
        [row] = store.call(c.Places("run", whole=True))
        return sorted(row.writes, key=lambda write: write.name)


def _overflowing(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        [pages] = db.execute("SELECT count(*) FROM dbstat WHERE name = 'write' AND pagetype = 'overflow'").fetchone()
        return int(pages)
