"""The stores that are held to the model. Each example gets a namespace of its own on each, empty and soon removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from batonpass.contracts.names import mint
from batonpass.coordinator.sqlite.store import SqliteStore
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
                _hurry(benches[name])
            yield benches

    def _harnesses(self) -> dict[str, Harness]:
        found: dict[str, Harness] = {MODEL: MemoryHarness()}
        if self._file:
            found["sqlite"] = SqliteHarness(self._file)
        if self._redis:
            found["redis"] = _Quick(self._redis)
        if self._cluster:
            # Deliveries have an order within a partition only.
            found["cluster"] = ClusterHarness(self._cluster, partitions=1)
        return found


class _Quick(RedisHarness):
    """Time passes in two round trips."""

    def _pass_time(self, milliseconds: int) -> None:
        keys = list(self.keys())
        with self.server.pipeline(transaction=False) as pipe:
            for prefix in self._prefixes:
                pipe.set(f"{prefix}clock", self.clock.now)
            for key in keys:
                pipe.pttl(key)
            left: list[Any] = pipe.execute()[len(self._prefixes) :]
            for key, lives in zip(keys, left, strict=True):
                if lives >= 0:
                    pipe.pexpire(key, lives - milliseconds)
            pipe.execute()


def _hurry(bench: Bench) -> None:
    """Nothing is killed here: SQLite need not wait for the disk."""
    if isinstance(bench.store, SqliteStore):
        with bench.store._writing as connection:
            connection.execute("PRAGMA synchronous = OFF")
