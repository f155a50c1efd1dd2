"""A real Redis Cluster for tests: server processes of our own, each with a share of the slots."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import redis
from redis.cluster import ClusterNode

from batonpass.coordinator.redis.cluster import ClusterStore
from tests.capabilities import note
from tests.harness.clock import Clock
from tests.harness.redis import RedisServer, binaries, version_of
from tests.harness.scripts import with_clock, with_shebang
from tests.harness.stores import RedisHarness
from tests.harness.waiting import wait_until

SLOTS = 16384


class Node(RedisServer):
    """One server of a cluster."""

    def __init__(self, folder: Path, binary: Path) -> None:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0")
        super().__init__(folder, *options, binary=binary)

    def ask(self, *words: Any) -> Any:
        """A command to this node alone."""
        with self.client() as client:
            return client.execute_command(*words)

    @property
    def id(self) -> str:
        """What the other nodes call it."""
        told: Any = self.ask("CLUSTER MYID")
        return told.decode() if isinstance(told, bytes) else str(told)


class Cluster:
    """Three primaries that share the slots evenly, and replicas of the first ones."""

    def __init__(self, folder: Path, *, replicas: int = 0) -> None:
        self._binary = max(binaries(), key=version_of)
        self.version = ".".join(map(str, version_of(self._binary)))
        self.holds_to_one_slot = version_of(self._binary) >= (7,)
        self.nodes: list[Node] = []
        for number in range(3 + replicas):
            (folder / str(number)).mkdir(parents=True)
            self.nodes.append(Node(folder / str(number), self._binary))
        self.primaries, self.replicas = self.nodes[:3], self.nodes[3:]

    @property
    def url(self) -> str:
        """The store URL, which names two of the nodes."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes[:2])}"

    def start(self) -> None:
        """Start the servers, join them and wait until each knows all."""
        for node in self.nodes:
            node.start()
        for number, node in enumerate(self.primaries):
            share = range(SLOTS * number // len(self.primaries), SLOTS * (number + 1) // len(self.primaries))
            node.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            node.ask("CLUSTER ADDSLOTS", *share)
        for node in self.nodes[1:]:
            node.ask("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
        wait_until(self._joined, what="the nodes of the cluster did not find each other")
        for primary, replica in zip(self.primaries, self.replicas, strict=False):
            replica.ask("CLUSTER REPLICATE", primary.id)
        wait_until(lambda: all(map(self._follows, self.replicas)), what="a replica did not catch up")

    def _joined(self) -> bool:
        states: list[dict[str, str]] = [node.ask("CLUSTER INFO") for node in self.nodes]
        everyone = str(len(self.nodes))
        return all(state["cluster_state"] == "ok" and state["cluster_known_nodes"] == everyone for state in states)

    @staticmethod
    def _follows(replica: Node) -> bool:
        return bool(replica.ask("INFO", "replication").get("master_link_status") == "up")

    def catch_up(self) -> None:
        """Wait until the replicas have what was written so far."""
        for primary, replica in zip(self.primaries, self.replicas, strict=False):
            written = int(primary.ask("INFO", "replication")["master_repl_offset"])
            wait_until(partial(_has, replica, written), what="a replica did not catch up")

    def client(self) -> Any:
        """A plain client of the whole cluster."""
        return redis.RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", node.port) for node in self.nodes])

    @cached_property
    def plain(self) -> Any:
        """A client that all may share: making one asks every node for its slots."""
        return self.client()

    def owner(self, key: str) -> Node:
        """The primary that serves a key's slot now."""
        with self.client() as client:
            port: int = client.get_node_from_key(key).port
        return next(node for node in self.nodes if node.port == port)

    def close(self) -> None:
        """End all servers."""
        if "plain" in vars(self):
            self.plain.close()
        for node in self.nodes:
            node.close()


def _has(replica: Node, written: int) -> bool:
    return int(replica.ask("INFO", "replication")["slave_repl_offset"]) >= written


@contextmanager
def some_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster of three nodes."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        note("redis-cluster", f"{cluster.version}, {len(cluster.nodes)} nodes")
        if cluster.holds_to_one_slot:
            note("redis one-slot check", cluster.version)
        yield cluster
    finally:
        cluster.close()


class ClusterHarness(RedisHarness):
    """A cluster that other tests use too. Servers from 7.0 on hold each script to one slot."""

    def __init__(self, cluster: Cluster, partitions: int = 16) -> None:
        self.clock = Clock()
        self.clock.moved = self._pass_time
        self._url = f"{cluster.url}?partitions={partitions}"
        self.count = partitions
        self.own = f"t{secrets.token_hex(6)}-"
        self._prefixes: set[str] = set()
        self.scripts = with_shebang if cluster.holds_to_one_slot else with_clock
        self.server = cluster.plain

    def store(self, namespace: str = "default") -> ClusterStore:  # type: ignore[override]
        made = ClusterStore(self._url, self.own + namespace, scripts=self.scripts)
        prefixes = [made.prefix(at) for at in range(self.count)]
        self._prefixes.update(prefixes)
        with self.server.pipeline(transaction=False) as pipe:
            for prefix in prefixes:
                pipe.set(f"{prefix}clock", self.clock.now)
            pipe.execute()
        return made

    def keys(self) -> Iterator[str]:
        """All keys that the store made, but for wake-ups, which mean nothing to who looks."""
        return iter(self.kept())

    def kept(self) -> list[str]:
        """Their names."""
        return [key for key in RedisHarness.keys(self) if "}:d:" not in key]

    def close(self) -> None:
        """Remove what was kept; the client is the cluster's."""
        self.clear()
