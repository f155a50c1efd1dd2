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

_VARIANTS = [(store, side) for store in ("memory", "sqlite", "redis") for side in ("sync", "async")]
# Scripts with a shebang are held to one slot by servers from 7.0 on. The topics that run every script:
_IN_A_CLUSTER = {
    *("agents", "cancel", "claim", "endings", "events", "expire", "leases", "listing", "questions", "retries", "save"),
    *("submit", "timeline", "ttl", "watch"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the store and the side that it runs on."""
    if "variant" in metafunc.fixturenames:
        topic = metafunc.definition.path.stem.removeprefix("test_")
        clustered = topic in _IN_A_CLUSTER and cluster_binary() is not None
        variants = [*_VARIANTS, ("redis-cluster", "async")] if clustered else _VARIANTS
        metafunc.parametrize("variant", variants, ids="-".join)


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
