"""What two namespaces of one store keep is kept apart, although they share every name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.items import Items, name


@pytest.fixture
def other(bench: Bench) -> Iterator[Bench]:
    """Another namespace of the same store."""
    with bench.beside("another") as made:
        yield made


def test_jobs(bench: Bench, other: Bench) -> None:
    mine, theirs = bench.submit(thread="run"), other.submit(thread="run")
    for here, there, own, foreign in ((bench, other, mine, theirs), (other, bench, theirs, mine)):
        assert [row.id for row in here.do(c.ListJobs())] == [own]
        for command in (c.ReadJob(foreign), c.Cancel(foreign), c.AnswerJob(foreign, b"yes"), c.ListJobs(9, foreign)):
            with there.nothing_changes(), pytest.raises(bp.NotFound):
                here.do(command)
        assert [row.fields["subject"] for row in here.do(c.Events())] == [own]
        assert here.take().job_id == own


def test_leases(bench: Bench, other: Bench) -> None:
    fence = bench.start(lease=MINUTE)
    with bench.refused(bp.NotFound):
        other.do(c.Complete(fence, b"result"))
    assert other.do(c.Heartbeat(((fence, MINUTE),))) == ["lost"]
    bench.clock.advance(2 * MINUTE)
    assert other.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.do(c.Reap()).moved == 1


def test_keys(bench: Bench, other: Bench) -> None:
    mine = bench.submit(key="k", payload='{"n": 1}')
    theirs = other.submit(key="k", payload='{"n": 2}')
    assert mine != theirs
    assert bench.submit(key="k", payload='{"n": 1}') == mine
    assert other.submit(key="k", payload='{"n": 2}') == theirs


def test_an_ended_jobs_key_ages_in_its_own_namespace(bench: Bench, other: Bench) -> None:
    theirs = other.submit(key="k", key_ttl=MINUTE)
    bench.do(c.Cancel(bench.submit(key="k", key_ttl=MINUTE)))
    bench.clock.advance(2 * MINUTE)
    assert other.submit(key="k") == theirs


def test_checkpoints(bench: Bench, other: Bench) -> None:
    mine, theirs = bench.save(None, thread="run"), other.save(None, thread="run")
    for here, own, foreign in ((bench, mine, theirs), (other, theirs, mine)):
        assert [row.id for row in here.line("run")] == [own]
        assert here.tip("run") == own
        for command in (c.Restore(foreign), c.Expire(foreign), c.Timeline("run", 9, foreign)):
            with bench.refused(bp.NotFound):
                here.do(command)
        with bench.refused(bp.NotFound):
            here.save(None, thread="run", parent=foreign, branch=True)
        with bench.refused(bp.NotFound):
            here.submit(origin=foreign)


def test_items(bench: Bench, other: Bench) -> None:
    mine, theirs = Items(bench), Items(other)
    mine.put(name("a"), value=b"mine")
    assert (theirs.row(name("a")), theirs.names(), theirs.spaces()) == (None, [], [])
    theirs.put(name("a"), value=b"theirs", ttl=MINUTE)
    mine.delete(name("a"))
    bench.clock.advance(MINUTE - 1)
    bench.do(c.Reap())
    assert (mine.names(), theirs.names()) == ([], [name("a")])


@pytest.mark.one_partition
def test_limits(bench: Bench, other: Bench) -> None:
    queue, full = new_target().queue, c.Terms(most=2, counted=(new_target().queue,))
    for here in (bench, other):
        jobs = [here.submit(terms=full) for _ in range(2)]
        for limits in (c.Limits("a" * 32, concurrency=1), c.Limits("b" * 32, count=1, per=MINUTE)):
            asked = c.Claim("w", ((queue, MINUTE),), (mint("l"), mint("l")), {queue: limits})
            assert [delivery.job.id for delivery in here.do(asked)] == jobs[:1]
            here.do(c.Cancel(jobs[0]))
            here.do(c.Cancel(jobs[1]))
            jobs = [here.submit(terms=full) for _ in range(2)]


def test_declarations_and_presence(bench: Bench, other: Bench) -> None:
    bench.do(c.Declare({"write": b"1"}))
    bench.do(c.Reap(worker="w", queues=("q",), presence=MINUTE))
    assert (other.do(c.Declared()), other.do(c.Takers("q"))) == ({}, 0)
    assert (bench.do(c.Declared()), bench.do(c.Takers("q"))) == ({"write": b"1"}, 1)
