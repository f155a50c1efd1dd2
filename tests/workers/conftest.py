"""Fixtures of the tests of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import Desk
from .receiver import Receiver, serving


@pytest.fixture
def desk(store_url: str, tmp_path: Path) -> Iterator[Desk]:
    """A store, on SQLite and on Redis, that worker processes serve."""
    made = Desk(store_url, tmp_path)
    yield made
    made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    with serving(made):
        yield made
