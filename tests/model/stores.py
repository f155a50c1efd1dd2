"""The stores that are held to the model. Each example gets a namespace of its own on each, empty and soon removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from batonpass.contracts.names import mint
from tests.harness.bench import Bench
from tests.harness.cluster import Cluster, ClusterHarness
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness

MODEL = "memory"


class Stores:
    """Where the examples run: the model always, SQLite if there is a folder, Redis at a URL, a cluster."""

    def __init__(self, folder: Path | None = None, *, redis: str = "", cluster: Cluster | None = None) -> None:
        self._file = folder / "model.db" if folder else None
        self._redis = redis
        self._cluster = cluster

    @contextmanager
    def opened(self) -> Iterator[Mapping[str, Bench]]:
        """A handle on each store, by name; the model's comes first."""
        with ExitStack() as stack:
            benches: dict[str, Bench] = {}
            for name, harness in self._harnesses().items():
                if isinstance(harness, RedisHarness):
                    stack.callback(harness.close)
                benches[name] = stack.enter_context(Bench(harness, side="sync", namespace=mint("j")))
            yield benches

    def _harnesses(self) -> dict[str, Harness]:
        found: dict[str, Harness] = {MODEL: MemoryHarness()}
        if self._file:
            found["sqlite"] = SqliteHarness(self._file)
        if self._redis:
            found["redis"] = RedisHarness(self._redis)
        if self._cluster:
            # Deliveries are only in order within a partition.
            found["cluster"] = ClusterHarness(self._cluster, partitions=1)
        return found
