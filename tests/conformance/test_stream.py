"""What a job streams: live, in order, kept for a while, and written by the lease's holder alone."""

from __future__ import annotations

from typing import Any

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.commands.streaming import KEPT, KEPT_FOR
from tests.harness.bench import Bench


def streamed(bench: Bench, job_id: str, after: str = "", **more: Any) -> list[bytes]:
    return [row.data for row in bench.do(c.ReadStream(job_id, after, **more))]


def test_in_order_and_by_pages(bench: Bench) -> None:
    fence, other = bench.start(), bench.start()
    bench.do(c.Emit(fence, (b"1", b"2")))
    bench.do(c.Emit(other, (b"x",)))
    bench.do(c.Emit(fence, (b"3",)))
    rows = bench.do(c.ReadStream(fence.job_id, limit=2))
    assert [row.data for row in rows] == [b"1", b"2"]
    assert streamed(bench, fence.job_id, rows[0].position) == [b"2", b"3"]
    assert streamed(bench, fence.job_id, bench.do(c.ReadStream(fence.job_id))[-1].position) == []


def test_it_is_no_part_of_the_job(bench: Bench) -> None:
    fence = bench.start()
    happened, row = bench.happened(fence.job_id), bench.job(fence.job_id)
    bench.do(c.Emit(fence, (b"1",)))
    assert (bench.happened(fence.job_id), bench.job(fence.job_id)) == (happened, row)
    bench.do(c.Complete(fence, b"done"))
    assert streamed(bench, fence.job_id) == [b"1"]  # who reads along may be behind


def test_only_by_who_holds_the_lease(bench: Bench) -> None:
    fence = bench.start(lease=1)
    bench.clock.advance(2)
    bench.do(c.Reap())
    with bench.refused(bp.Fenced):
        bench.do(c.Emit(fence, (b"late",)))
    assert streamed(bench, fence.job_id) == []


def test_the_last_are_kept(bench: Bench) -> None:
    fence, other = bench.start(), bench.start()
    bench.do(c.Emit(other, (b"x",)))
    for start in range(0, KEPT + 200, 400):
        bench.do(c.Emit(fence, tuple(b"%d" % number for number in range(start, start + 400))))
    found = streamed(bench, fence.job_id, limit=2 * KEPT)
    assert (len(found), found[-1]) == (KEPT, b"1199")
    assert streamed(bench, other.job_id) == [b"x"]


def test_for_a_while(bench: Bench) -> None:
    fence, other = bench.start(), bench.start()
    bench.do(c.Emit(fence, (b"a word",)))
    bench.do(c.Complete(fence, b"done"))
    bench.clock.advance(KEPT_FOR)
    bench.do(c.Emit(other, (b"2",)))
    assert (streamed(bench, fence.job_id), streamed(bench, other.job_id)) == ([], [b"2"])
    bench.do(c.Reap())
    assert (streamed(bench, fence.job_id), streamed(bench, other.job_id)) == ([], [b"2"])
    assert "a word" not in str(bench.harness.dump())


def test_it_goes_with_the_job(bench: Bench) -> None:
    fence, other = bench.start(), bench.start()
    bench.do(c.Emit(fence, (b"1",)))
    bench.do(c.Emit(other, (b"2",)))
    bench.do(c.Complete(fence, b"done"))
    bench.do(c.DeleteJob(fence.job_id))
    assert (streamed(bench, fence.job_id), streamed(bench, other.job_id)) == ([], [b"2"])


def test_of_nothing(bench: Bench) -> None:
    assert streamed(bench, bench.submit()) == []
    assert streamed(bench, mint("j")) == []
    with bench.refused(bp.BadSetup):
        streamed(bench, mint("j"), "not a position")
