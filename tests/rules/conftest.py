"""The stores that these tests attack, from sync code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.bench import Bench
from tests.harness.stores import MemoryHarness, RedisHarness, SqliteHarness


@pytest.fixture(params=["memory", "sqlite", "redis"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """A store, opened."""
    if request.param == "redis":
        redis = RedisHarness(request.getfixturevalue("redis_server"))
        with Bench(redis, side="sync") as made:
            yield made
        redis.close()
    else:
        harness = MemoryHarness() if request.param == "memory" else SqliteHarness(tmp_path / "store.db")
        with Bench(harness, side="sync") as made:
            yield made
