"""Places live in the partition of their thread; those of a run in all of them."""

from __future__ import annotations

from batonpass.contracts.names import home
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Write
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import Bench
from tests.harness.places import Places, large

THREADS = [f"run {number}" for number in range(12)]


def test_threads_in_all_partitions(bench: Bench) -> None:
    assert len({home(thread) % 16 for thread in THREADS}) > 5
    put: list[tuple[str, str]] = []
    for thread in THREADS:
        run = Places(bench, thread)
        put += [(thread, id_) for id_ in run.line("a", "b", state=large(thread), run="r")]
        run.write("b", Write("x", thread.encode()))
        assert run.written("b") == {"x": thread.encode()}
        assert run.keys(None) == ["b", "a"]
    assert bench.do(c.OfRun("r")) == sorted(put)
    assert bench.do(c.OfRun("r", 5)) == sorted(put)[:5]
    assert bench.do(c.OfRun("s")) == []
    for thread in THREADS:
        assert bench.do(c.Drop(thread, tuple(id_ for of, id_ in put if of == thread))).count == 2
    assert bench.do(c.OfRun("r")) == []


def test_a_large_state_and_its_spans(bench: Bench) -> None:
    """They are read in a second step, from the partition of the thread."""
    for thread in THREADS[:4]:
        run = Places(bench, thread)
        state = {"doc": [thread * 20_000] * 3}
        run.put("a", state=state)
        found = run.find()
        assert found is not None
        assert open_checkpoint(found.checkpoint).state == state
        assert found.checkpoint.bodies


def test_under_a_lease(bench: Bench) -> None:
    """The job that owns the thread lives where that does."""
    fence = bench.start(thread=THREADS[0])
    run = Places(bench, THREADS[0])
    run.line("a", "b", fence=fence)
    run.write("b", Write("x", b"1"), fence=fence)
    assert run.written("b") == {"x": b"1"}
    assert bench.job(fence.job_id).tip == run.find("b").checkpoint.id  # type: ignore[union-attr]
