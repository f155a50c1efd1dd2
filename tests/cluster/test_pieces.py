"""Requests to several nodes of a cluster at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import redis

from batonpass.coordinator.redis.cluster_pieces import at_once
from tests.harness.cluster import Cluster


class Far:
    """A client that needs a while to connect to each node."""

    def __init__(self, client: Any, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self.get_node_from_key = client.get_node_from_key

    def get_redis_connection(self, node: Any) -> Any:
        near = self._client.get_redis_connection(node)
        pool = near.connection_pool

        def get_connection() -> Any:
            time.sleep(self._seconds)
            return pool.get_connection()

        far = SimpleNamespace(get_connection=get_connection, release=pool.release, _available_connections=[])
        return SimpleNamespace(connection_pool=far, parse_response=near.parse_response)


def test_a_node_has_its_time_from_when_it_was_asked(three_nodes: Cluster) -> None:
    """The time that it took to connect to all nodes does not count as their silence."""
    keys = [next(key for key in map(str, range(1000)) if three_nodes.owner(key) is node) for node in three_nodes.nodes]
    asked = [(key, ("BLPOP", key, wait)) for key, wait in zip(keys, (0.7, 0.01, 0.01), strict=True)]
    with three_nodes.client() as client:
        assert at_once(Far(client, 0.3), asked, within=0.5) == [None, None, None]


class Gone:
    """A client that can't connect to the node of one key. `meanwhile` is called when it tries."""

    def __init__(self, client: Any, key: str, meanwhile: Callable[[], None]) -> None:
        self._client, self._node = client, client.get_node_from_key(key)
        self._meanwhile = meanwhile
        self.get_node_from_key = client.get_node_from_key

    def get_redis_connection(self, node: Any) -> Any:
        if node is not self._node:
            return self._client.get_redis_connection(node)
        return SimpleNamespace(connection_pool=SimpleNamespace(get_connection=self._connect, _available_connections=[]))

    def _connect(self) -> Any:
        self._meanwhile()
        raise redis.TimeoutError("Timeout connecting to server")


def test_who_is_connected_is_asked_before_one_who_is_not(three_nodes: Cluster) -> None:
    """A host that drops packets takes seconds to say nothing, in which the leases in the others would run out."""
    keys = [next(key for key in map(str, range(1000)) if three_nodes.owner(key) is node) for node in three_nodes.nodes]
    with three_nodes.client() as client:
        at_once(client, [(key, ("DEL", key)) for key in keys], within=5)
        seen: list[Any] = []
        gone = Gone(client, keys[0], lambda: seen.extend(three_nodes.plain.get(key) for key in keys[1:]))
        refused, *set_ = at_once(gone, [(key, ("SET", key, "x")) for key in keys], within=5)
    assert isinstance(refused, redis.TimeoutError)
    assert set_ == [True, True]
    assert seen == [b"x", b"x"]
