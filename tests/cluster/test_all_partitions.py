"""Operations over all jobs, threads and events of all partitions, portion by portion."""

from __future__ import annotations

import pytest

import batonpass as bp
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


def test_what_is_not_wanted_is_passed_over_in_all_partitions_at_once(bench: Bench) -> None:
    """A page looks at its share of each partition, so a reader who wants few gets through as fast as one who wants
    all."""
    for _ in range(400):
        bench.submit()
    for number in range(5):
        bench.save(None, thread=f"wanted {number}")
        bench.submit()
    wanted = [row.position.partition("~")[0] for row in bench.do(c.Events(limit=10_000)) if "checkpoint" in row.fields]
    for types, expected in ((("batonpass.checkpoint.*",), wanted), (("nothing",), [])):
        found, pages, after = list[str](), 0, ""
        while rows := bench.do(c.Events(after, limit=160, which=c.Which(types=types))):
            found += [row.position.partition("~")[0] for row in rows if row.fields]
            pages, after = pages + 1, rows[-1].position
        assert found == expected
        assert pages < 20, "a partition has some 25 events, and 10 are its share"


def test_a_first_cursor_is_older_than_a_trim_of_any_partition(bench: Bench) -> None:
    """Even if nothing of the other partitions was read up to it."""
    bench.save(None, thread="first")
    bench.clock.advance(1)
    for _ in range(5):
        bench.save(None, thread="other")
    [first, *rest] = bench.do(c.Events())
    assert bench.do(c.Events(first.position)) == rest
    bench.do(c.TrimEvents(1))
    with pytest.raises(bp.Trimmed) as told:
        bench.do(c.Events(first.position))
    assert bench.do(c.Events(told.value.first_available)) == rest[-1:]
    whole = bench.do(c.Events())
    assert [row.fields for row in whole] == [first.fields, rest[-1].fields]
    assert bench.do(c.Events(whole[0].position)) == whole[1:]
