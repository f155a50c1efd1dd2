"""A file of schema 1 gets places when it is opened, and keeps what it held."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import draft, open_checkpoint
from batonpass.coordinator.sqlite.schema import FOLDER, bring_up_to_date
from batonpass.coordinator.sqlite.store import SqliteStore


def _made_by_the_first(path: Path, folder: Path, newer: Path) -> None:
    """A file as Batonpass made it when it knew schema 1 alone, with what a newer one holds."""
    folder.mkdir()
    (folder / "001_tables.sql").write_text((FOLDER / "001_tables.sql").read_text())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        bring_up_to_date(db, str(path), folder)
        db.execute("ATTACH ? AS newer", (str(newer),))
        for (table,) in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} SELECT {columns} FROM newer.{table}")


def _new(state: object, place: Place | None = None) -> c.NewCheckpoint:
    return draft(Snapshot(step="step", state=state), thread="run", agent="write", place=place).new


def test_an_older_file_gets_places(path: Path, tmp_path: Path) -> None:
    newer = SqliteStore(str(tmp_path / "newer.db"), "default")
    saved = _new("before")
    newer.call(c.Save("run", saved))
    newer.close()
    _made_by_the_first(path, tmp_path / "sql", tmp_path / "newer.db")
    store = SqliteStore(str(path), "default")
    store.call(c.Put(_new("after", Place("", "a", "r")), writes=[Write("x", b"1")]))
    assert store.call(c.Places("run", None))[0].place == Place("", "a", "r")
    assert open_checkpoint(store.call(c.Restore(saved.id))).state == "before"
    assert len(store.call(c.Timeline("run"))) == 2
    assert [event.position for event in store.call(c.Events())] == ["1", "2"]
    store.close()
