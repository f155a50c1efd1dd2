"""Fixtures of the tests of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import Desk


@pytest.fixture
def desk(store_url: str, tmp_path: Path) -> Iterator[Desk]:
    """A store, on SQLite and on Redis, that worker processes serve."""
    made = Desk(store_url, tmp_path)
    yield made
    made.close()
