"""A release that tells of a crash: the job is ready again at once, and parked when its processes keep dying."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.bench import Bench

HOW = "process 7 was killed by SIGSEGV"


def test_a_crash_makes_the_job_ready_and_counts(bench: Bench) -> None:
    fence = bench.start(worker="w1")
    bench.do(c.Release(fence, HOW))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.crashes, row.lease, row.attempt) == ("submitted", "ready", 1, "", 1)
    last = bench.do(c.Events(subject=fence.job_id))[-1].fields
    assert last["type"] == "batonpass.job.crashed"
    assert (last["worker"], last["token"], last["error"]) == ("w1", str(fence.token), HOW)
    assert bench.take(worker="w2").token > fence.token


def test_a_crash_said_again_counts_once(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Release(fence, HOW))
    with bench.nothing_changes():
        bench.do(c.Release(fence, HOW))


def test_what_was_given_back_does_not_count_as_a_crash(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Release(fence))
    assert bench.job(fence.job_id).crashes == 0


def test_from_the_third_on_it_waits_twice_as_long_each_time(bench: Bench) -> None:
    """Ten deaths in a second would park every job of a machine that is short of memory for a moment."""
    fence, waits = bench.start(), []
    for _ in range(POISON - 1):
        bench.do(c.Release(fence, HOW))
        row = bench.job(fence.job_id)
        waits.append(row.due - bench.clock.now if row.due else 0)
        assert (row.reason, row.error) == (("retry_at", HOW) if row.due else ("ready", ""))
        bench.clock.advance(waits[-1])
        bench.do(c.Reap())
        fence = bench.take()
    assert waits == [0, 0, *(1_000 * each for each in (1, 2, 4, 8, 16, 32, 60))]


def test_a_job_that_kills_its_processes_is_parked(bench: Bench) -> None:
    fence = bench.start()
    for crashes in range(1, POISON):
        bench.do(c.Release(fence, HOW))
        assert bench.job(fence.job_id).crashes == crashes
        fence = bench.take_again(fence.job_id)
    bench.do(c.Release(fence, HOW))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.crashes, row.lease) == ("failed", "poison", POISON, "")
    assert row.error == f"{POISON} workers died or went silent while they ran this hop; the last: {HOW}"
    assert bench.happened(fence.job_id)[-1].endswith("job.failed")
    assert [dead.id for dead in bench.do(c.ListJobs(dead=True))] == [fence.job_id]
    assert bench.do(c.Claim("w", ((row.queue, 1000),), ("l" * 20,))) == []
