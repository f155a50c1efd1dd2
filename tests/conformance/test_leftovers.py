"""What a store keeps of jobs goes with them: after pruning, the store is as it was before the first job."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.items import Items, name
from tests.harness.stores import Harness
from tests.redis_store.test_keys import DAY, everything


def kept(harness: Harness) -> set[str]:
    """The tables and keys that hold something, except for events."""
    names = {name for name, value in harness.dump().items() if _holds(value)}
    return {name for name in names if not name.endswith(("event", "events", "sqlite_sequence", "presence"))}


def _holds(value: object) -> bool:
    """Counters go on, and the model keeps an empty dict for each queue."""
    if isinstance(value, dict):
        return any(item != {} for item in value.values())
    return bool(value) and not isinstance(value, int)


@pytest.mark.one_partition
def test_nothing_is_left_of_pruned_jobs(harness: Harness, bench: Bench) -> None:
    bench.do(c.Declare({"write": b"1"}))
    before = kept(harness)
    everything(bench)
    assert len(kept(harness) - before) > 5
    bench.clock.advance(2 * DAY)
    while bench.do(c.Reap(limit=500)).moved:
        pass
    at = 0
    while at >= 0:
        at = bench.do(c.PruneJobs(MINUTE, at)).next
    for thread in ("free", "placed"):
        bench.do(c.DeleteThread(thread))
    Items(bench).delete(name("a"))
    bench.claim(10)
    bench.claim(10, agent="review")
    bench.do(c.Reap(worker="w", queues=(new_target().queue,), presence=MINUTE))
    bench.clock.advance(2 * MINUTE)
    assert kept(harness) - before == set()
