"""New SQLite files: thousands of tests want one, and making its tables takes 15 ms of processor."""

from __future__ import annotations

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
