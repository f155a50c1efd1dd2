"""Events: what happened, in order, for whoever reads on from a position."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import EventRow
from tests.harness.bench import Bench, new_target


def read_all(bench: Bench, subject: str = "", limit: int = 500) -> list[EventRow]:
    """Page by page from the beginning, as a reader does."""
    found: list[EventRow] = []
    after = ""
    while rows := bench.do(c.Events(after, subject, limit)):
        assert rows[-1].position != after
        found += [row for row in rows if row.fields]
        after = rows[-1].position
    return found


def run_one(bench: Bench) -> str:
    fence = bench.start()
    bench.save(fence, thread=fence.job_id, step="fetch")
    bench.do(c.HandOff(fence, new_target("review")))
    bench.do(c.Complete(bench.take(agent="review"), b"result"))
    return fence.job_id


def test_the_life_of_a_job(bench: Bench) -> None:
    job_id = run_one(bench)
    rows = bench.do(c.Events(subject=job_id))
    told = [(row.fields["type"].removeprefix("batonpass."), row.fields["agent"], row.fields["hop"]) for row in rows]
    assert told == [
        ("job.submitted", "write", "0"),
        ("job.started", "write", "0"),
        ("checkpoint.saved", "write", "0"),
        ("job.handed_off", "review", "1"),
        ("job.started", "review", "1"),
        ("job.completed", "review", "1"),
    ]
    assert {row.fields["subject"] for row in rows} == {job_id}
    assert all(int(row.fields["time"]) > 0 for row in rows)


@pytest.mark.one_partition
def test_what_is_empty_is_not_told(bench: Bench) -> None:
    """The same fields from every store."""
    fence = bench.start()
    bench.save(fence, thread="x", step="")
    bench.save(None, thread="run", step="")
    names = [set(row.fields) - {"type", "subject", "time", "agent"} for row in bench.do(c.Events())]
    assert names == [{"hop"}, {"hop", "worker", "token", "attempt"}, {"hop", "checkpoint"}, {"checkpoint"}]


@pytest.mark.one_partition
def test_pages_have_every_event_once(bench: Bench) -> None:
    jobs = [run_one(bench) for _ in range(4)]
    everything = read_all(bench)
    assert len(everything) == len({row.position for row in everything}) == 24
    for limit in (1, 5, 24):
        assert read_all(bench, limit=limit) == everything
    for job_id in jobs:
        mine = [row for row in everything if row.fields["subject"] == job_id]
        for limit in (1, 5, 24):
            assert read_all(bench, job_id, limit) == mine


@pytest.mark.one_partition
def test_the_position_moves_on_where_nothing_matches(bench: Bench) -> None:
    run_one(bench)
    rows = bench.do(c.Events(subject="nobody", limit=3))
    assert [row.fields for row in rows] == [{}]
    [rest] = bench.do(c.Events(rows[0].position, "nobody"))
    assert bench.do(c.Events(rest.position)) == []
    bench.submit(thread="x")
    assert len(bench.do(c.Events(rest.position))) == 1


def test_the_newest_position(bench: Bench) -> None:
    assert bench.do(c.Events(bench.do(c.LastEvent()))) == []
    run_one(bench)
    last = bench.do(c.LastEvent())
    assert last == bench.do(c.Events())[-1].position
    job_id = bench.submit()
    [row] = bench.do(c.Events(last))
    assert row.fields["subject"] == job_id


def test_a_thread_is_a_subject_where_no_job_runs(bench: Bench) -> None:
    saved = bench.save(None, thread="run", step="fetch")
    [row] = bench.do(c.Events(subject="run"))
    assert (row.fields["type"], row.fields["checkpoint"]) == ("batonpass.checkpoint.saved", saved)
    assert (row.fields["agent"], row.fields["step"]) == ("write", "fetch")


def test_what_is_refused_is_not_told(bench: Bench) -> None:
    job_id = run_one(bench)
    told = bench.happened(job_id)
    bench.do(c.Cancel(job_id))
    bench.do(c.Reap())
    assert bench.claim() == []
    assert bench.happened(job_id) == told
