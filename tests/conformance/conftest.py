"""Every conformance test runs on every store, asked from sync code or from async code (--all-variants: from both)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.capabilities import note
from tests.harness.bench import Bench
from tests.harness.cluster import ClusterHarness
from tests.harness.ram import ram_folder
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness
from tests.harness.variants import every, turn

_SIDES = ("sync", "async")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "one_partition: what has an order, or a place, within one partition only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the store and the side that it runs on."""
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", _variants(metafunc), ids="-".join)


def _variants(metafunc: pytest.Metafunc) -> list[tuple[str, str]]:
    """Every store from both sides. In a sample from one: SQLite from one and Redis from the other, so that each test
    runs from both, and by turns, so that each store is asked from both."""
    pairs = [
        (store, _SIDES[(turn(metafunc) + number) % 2]) for number, store in enumerate(("memory", "sqlite", "redis"))
    ]
    if every(metafunc):
        pairs += [(store, _SIDES[1 - _SIDES.index(side)]) for store, side in pairs]
    return [*pairs, ("redis-cluster", "async")]


@pytest.fixture
def harness(variant: tuple[str, str], request: pytest.FixtureRequest) -> Iterator[Harness]:
    """The store under test."""
    kind, _ = variant
    if kind == "memory":
        note("memory")
        yield MemoryHarness()
    elif kind == "sqlite":
        note("sqlite")
        with ram_folder() as folder:
            yield SqliteHarness(folder / "store.db")
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
