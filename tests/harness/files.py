"""SQLite files: new ones, because thousands of tests want one, and making its tables takes 15 ms of processor. And who
has the lock of one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from batonpass.coordinator.sqlite.file import open_store_file


@cache
def _tables() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "store.db")
        open_store_file(str(path)).close()
        return path.read_bytes()


def new_file(path: Path) -> Path:
    """A store's file as it is before anything is kept in it."""
    if not path.exists():
        path.write_bytes(_tables())
    return path


def is_locked(path: Path, patience: float = 0) -> bool:
    """Whether somebody holds the write lock of a file that exists, and keeps it for `patience` seconds."""
    there = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(there, uri=True, timeout=patience, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        db.execute("ROLLBACK")
    return False
