"""How long the delivery has been ready that has waited longest."""

from __future__ import annotations

from pathlib import Path

from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.stores import SqliteHarness


def test_not_the_one_that_is_next(tmp_path: Path) -> None:
    """A redelivered job goes ahead of those that wait for longer."""
    queue = new_target("write").queue
    with Bench(SqliteHarness(tmp_path / "store.db"), side="sync") as bench:
        assert isinstance(bench.store, SqliteStore)
        bench.start()
        bench.submit()
        bench.clock.advance(2 * MINUTE)
        bench.do(c.Reap())
        bench.clock.advance(1)
        assert bench.store.count([queue]).queues[queue].oldest == 2 * MINUTE + 1
        first = bench.claim()
        bench.do(c.Cancel(first[0].job.id))
        assert bench.store.count([queue]).queues[queue].oldest == 2 * MINUTE + 1
        bench.claim()
        assert (bench.store.count([queue]).queues[queue].waiting, bench.store.count([queue]).queues[queue].oldest) == (
            0,
            0,
        )
