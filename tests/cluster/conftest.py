"""Fixtures of the tests of several partitions: benches on the session's cluster, and a cluster to be broken."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.bench import Bench
from tests.harness.cluster import Cluster, ClusterHarness


@pytest.fixture
def harness(three_nodes: Cluster) -> Iterator[ClusterHarness]:
    made = ClusterHarness(three_nodes)
    yield made
    made.close()


@pytest.fixture(params=["sync", "async"])
def bench(request: pytest.FixtureRequest, harness: ClusterHarness) -> Iterator[Bench]:
    """A new namespace of 16 partitions, from both sides."""
    with Bench(harness, side=request.param) as made:
        yield made


@pytest.fixture
def cluster_url(three_nodes: Cluster) -> str:
    """A store URL with a namespace of its own."""
    return f"{three_nodes.url}?namespace=t{secrets.token_hex(6)}"


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Three primaries of the test's own, one with a replica."""
    made = Cluster(tmp_path / "nodes", replicas=1)
    try:
        made.start()
        yield made
    finally:
        made.close()
