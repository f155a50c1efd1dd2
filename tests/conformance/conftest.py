"""Every conformance test runs on every store, asked from sync code and from async code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capabilities import note
from tests.harness.bench import Bench
from tests.harness.cluster import ClusterHarness
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness

_VARIANTS = [(store, side) for store in ("memory", "sqlite", "redis") for side in ("sync", "async")]
_VARIANTS.append(("redis-cluster", "async"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "one_partition: what has an order, or a place, within one partition only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the store and the side that it runs on."""
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", _VARIANTS, ids="-".join)


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
        if kind == "redis-cluster":
            partitions = 1 if request.node.get_closest_marker("one_partition") else 16
            made: RedisHarness = ClusterHarness(request.getfixturevalue("three_nodes"), partitions)
        else:
            made = RedisHarness(request.getfixturevalue("redis_server"))
        yield made
        made.close()


@pytest.fixture
def bench(variant: tuple[str, str], harness: Harness) -> Iterator[Bench]:
    """The store, opened, from one side."""
    with Bench(harness, side=variant[1]) as made:
        yield made
