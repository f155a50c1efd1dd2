"""Files as an older Batonpass made them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from batonpass.coordinator.sqlite.commit_lines import unpacked
from batonpass.coordinator.sqlite.schema import FOLDER, bring_up_to_date, migrations

_LINES_AS_TEXT = 7  # the last schema that knew no others


def made_by(version: int, path: Path, newer: Path) -> None:
    """Make the file of a Batonpass that knew this schema and none after, with what a newer file holds."""
    folder = path.with_name(f"sql-{version}")
    folder.mkdir()
    for number, file in migrations(FOLDER).items():
        if number <= version:
            (folder / file.name).write_text(file.read_text())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 2048")
        bring_up_to_date(db, str(path), folder)
        db.execute("ATTACH ? AS newer", (str(newer),))
        for (table,) in db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
            columns = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}")
        if version <= _LINES_AS_TEXT:
            lines_as_text(db)


def lines_as_text(db: sqlite3.Connection, which: str = "1") -> None:
    """Commit lines as they were stored until schema 7."""
    for id_, stored in db.execute(f"SELECT id, CAST(commit_line AS BLOB) FROM checkpoint WHERE {which}").fetchall():
        line = unpacked(stored).decode()
        db.execute("UPDATE checkpoint SET commit_line = ? WHERE id = ?", (line, id_))
