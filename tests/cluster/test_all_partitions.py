"""What goes over all jobs and threads of all partitions, portion by portion."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_threads_in_one_order(bench: Bench, limit: int) -> None:
    names = sorted(f"run {n} é"[n % 3 :] for n in range(30))
    for name in names:
        bench.save(None, thread=name)
    read: list[str] = []
    while page := bench.do(c.Threads(limit, read[-1] if read else "")):
        assert len(page) <= limit
        read += page
    assert read == names


@pytest.mark.parametrize("limit", [1, 5, 500])
def test_old_jobs_are_deleted_portion_by_portion(bench: Bench, limit: int) -> None:
    old = {bench.submit() for _ in range(20)}
    kept = bench.submit(thread="kept")
    for job_id in old:
        bench.do(c.Cancel(job_id))
    bench.clock.advance(MINUTE)
    deleted = start = rounds = 0
    while start >= 0:
        freed = bench.do(c.PruneJobs(MINUTE, start, limit))
        deleted, start, rounds = deleted + freed.count, freed.next, rounds + 1
        assert rounds < 200
    assert deleted == 20
    assert [row.id for row in bench.do(c.ListJobs())] == [kept]
