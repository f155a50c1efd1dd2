"""Requests to several nodes of a cluster at once, from sync code."""

from __future__ import annotations

import time
from typing import Any

from batonpass.coordinator.redis.cluster_pieces import at_once
from tests.harness.cluster import Cluster


class Far:
    """A client that needs a while to connect to each node."""

    def __init__(self, client: Any, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self.get_node_from_key = client.get_node_from_key

    def get_redis_connection(self, node: Any) -> Any:
        time.sleep(self._seconds)
        return self._client.get_redis_connection(node)


def test_a_node_has_its_time_from_when_it_was_asked(three_nodes: Cluster) -> None:
    """What it took to connect to all of them is no silence of theirs."""
    keys = [next(key for key in map(str, range(1000)) if three_nodes.owner(key) is node) for node in three_nodes.nodes]
    asked = [(key, ("BLPOP", key, wait)) for key, wait in zip(keys, (0.7, 0.01, 0.01), strict=True)]
    with three_nodes.client() as client:
        assert at_once(Far(client, 0.3), asked, within=0.5) == [None, None, None]
