"""Every conformance test runs on every store, asked from sync code and from async code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capabilities import note
from tests.harness.bench import Bench
from tests.harness.redis import cluster_binary
from tests.harness.scripts import with_shebang
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness

# Scripts with a shebang are held to one slot by servers from 7.0 on.
_STORES = ["memory", "sqlite", "redis", *(["redis-cluster"] if cluster_binary() else [])]
_VARIANTS = [
    (store, side) for store in _STORES for side in ("sync", "async") if (store, side) != ("redis-cluster", "sync")
]


@pytest.fixture(params=_VARIANTS, ids="-".join)
def variant(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The store and the side."""
    chosen: tuple[str, str] = request.param
    return chosen


@pytest.fixture
def harness(variant: tuple[str, str], request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    """The store under test."""
    kind, _ = variant
    if kind == "memory":
        note("memory")
        yield MemoryHarness()
    elif kind == "sqlite":
        note("sqlite")
        yield SqliteHarness(tmp_path / "store.db")
    else:
        clustered = kind == "redis-cluster"
        url = request.getfixturevalue("redis_cluster" if clustered else "redis_server")
        made = RedisHarness(url, with_shebang) if clustered else RedisHarness(url)
        yield made
        made.close()


@pytest.fixture
def bench(variant: tuple[str, str], harness: Harness) -> Iterator[Bench]:
    """The store, opened, from one side."""
    with Bench(harness, side=variant[1]) as made:
        yield made
