"""Jobs, page by page, newest first."""

from __future__ import annotations

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import Bench


def page(bench: Bench, limit: int, before: str = "") -> list[str]:
    return [row.id for row in bench.do(c.ListJobs(limit, before))]


def test_pages(bench: Bench) -> None:
    jobs: list[str] = []
    for _ in range(7):
        jobs.insert(0, bench.submit())
        bench.clock.advance(1)
    assert page(bench, 3) == jobs[:3]
    assert page(bench, 3, jobs[2]) == jobs[3:6]
    assert page(bench, 3, jobs[5]) == jobs[6:]
    assert page(bench, 3, jobs[6]) == []
    assert page(bench, 200) == jobs


def test_jobs_of_one_millisecond_are_each_on_one_page(bench: Bench) -> None:
    jobs = {bench.submit() for _ in range(7)}
    found = page(bench, 3)
    while more := page(bench, 3, found[-1]):
        found += more
    assert (len(found), set(found)) == (7, jobs)


def test_rows_are_the_jobs(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Complete(fence, b"result"))
    assert bench.do(c.ListJobs()) == [bench.job(fence.job_id)]


def test_none(bench: Bench) -> None:
    assert page(bench, 9) == []


def test_before_an_unknown_job(bench: Bench) -> None:
    bench.submit()
    with bench.refused(bp.NotFound):
        page(bench, 9, mint("j"))
