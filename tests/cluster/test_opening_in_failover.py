"""A store is opened while a replica of its cluster takes over: the client finds the new master, and nobody is told to
give another address."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.following import follow
from batonpass.coordinator.redis.cluster_partition import Partition
from batonpass.coordinator.redis.denial import Denial
from batonpass.coordinator.redis.scripts import script
from batonpass.coordinator.safety import UnsafeStore
from tests.harness.cluster import Cluster, Node
from tests.harness.waiting import wait_until


def _is(role: str, node: Node) -> bool:
    return bool(node.ask("INFO", "replication")["role"] == role)


@pytest.mark.timeout(90)
def test_the_client_finds_the_new_master(own_cluster: Cluster) -> None:
    old, [new] = own_cluster.primaries[0], own_cluster.replicas
    connection = bp.connect(own_cluster.url)
    with connection as coordinator:
        new.ask("CLUSTER FAILOVER", "TAKEOVER")
        for role, node in (("master", new), ("slave", old)):
            wait_until(partial(_is, role, node), what=f"a node did not become {role}")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with connection:
                coordinator.save(thread="t", agent="a", state=1)
        assert not [each.message for each in said if issubclass(each.category, UnsafeStore)]


def test_a_node_that_stays_a_replica_is_told_in_a_clusters_words() -> None:
    partition = Partition("redis+cluster://there", "bp:{default:0}:", script, Denial("redis+cluster://there"))
    info = {"redis_version": "7.0.0", "aof_enabled": 1, "role": "slave", "cluster_enabled": 1}
    replies: list[Any] = [info, [b"7", b"epoch", None, None], [], 0, [b"+"]]
    asked = 0

    def answered(commands: object) -> list[Any]:
        nonlocal asked
        asked += 1
        return replies

    with pytest.warns(UnsafeStore, match="has a replica where a master should be: a failover") as said:
        follow(partition.opening(), answered)
    assert asked > 1
    assert "redis+sentinel" not in str(said[0].message)
