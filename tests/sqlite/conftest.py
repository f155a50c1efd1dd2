"""The store under test, on a new file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batonpass.coordinator.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """The store, opened."""
    made = SqliteStore(str(path), "default")
    made.open()
    yield made
    made.close()
