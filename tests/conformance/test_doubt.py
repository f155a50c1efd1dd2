"""A job that others end in the middle of an effect says so: nobody else would ever look whether it has happened."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.bench import MINUTE, Bench, new_job, new_target

DOUBT = "effects that had started, and may have happened: 'bill', 'pay'"
STARTED = {"effect/pay": b"1", "doubt/pay": b"1", "doubt/bill": b"1", "effect/done": b"1", "step/effect:done": b"1"}


def said(bench: Bench, job_id: str) -> dict[str, str]:
    return dict(bench.do(c.Events(subject=job_id, limit=500))[-1].fields)


@pytest.mark.parametrize("failed", [False, True])
def test_canceled(bench: Bench, failed: bool) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, STARTED))
    if failed:
        bench.do(c.Fail(fence, "ValueError: boom", "", 5 * MINUTE))
    bench.do(c.Cancel(fence.job_id))
    row = bench.job(fence.job_id)
    assert (row.state, row.error) == ("canceled", DOUBT + ("; its last error: ValueError: boom" if failed else ""))
    assert said(bench, row.id)["error"] == DOUBT


def test_canceled_with_nothing_open(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, {"doubt/it's": b"1", "doubt/é": b"1", "other": b"1"}))
    bench.do(c.Record(fence, {"doubt/it's": b"", "step/effect:it's": b"1"}))
    bench.save(fence, thread=fence.job_id, records={"doubt/é": b"", "doubt/never": b""})
    bench.do(c.Cancel(fence.job_id))
    assert bench.job(fence.job_id).error == ""
    assert "error" not in said(bench, fence.job_id)


def test_what_is_deleted_is_gone(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, {"doubt/a": b"1", "doubt/b": b"1"}))
    bench.do(c.Record(fence, {"doubt/a": b"", "doubt/c": b""}))
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert delivery.journal == {"doubt/b": b"1"}


def test_a_redrive_that_deletes_said_again(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, {"doubt/a": b"1"}))
    bench.do(c.Fail(fence, "boom", "attempts"))
    redrive = c.Redrive(fence.job_id, token=fence.token, records={"doubt/a": b"", "effect/a": b"0"})
    bench.do(redrive)
    with bench.nothing_changes():
        bench.do(redrive)
    [delivery] = bench.claim()
    assert delivery.journal == {"effect/a": b"0"}


@pytest.mark.parametrize("on_busy", ["interrupt", "rollback"])
def test_replaced(bench: Bench, on_busy: str) -> None:
    fence = bench.start(thread="mine")
    bench.do(c.Record(fence, STARTED))
    bench.do(new_job(thread="mine", on_busy=on_busy))
    assert bench.job(fence.job_id).error == DOUBT


def test_too_late(bench: Bench) -> None:
    fence = bench.start(terms=c.Terms(within=MINUTE))
    bench.do(c.Record(fence, STARTED))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert bench.job(fence.job_id).error == f"it did not end before its deadline; {DOUBT}"


def test_parked(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, STARTED))
    for _ in range(POISON - 1):
        bench.do(c.Release(fence, "killed"))
        fence = bench.take_again(fence.job_id)
    bench.do(c.Release(fence, "killed"))
    died = f"{POISON} workers died or went silent while they ran this hop"
    assert bench.job(fence.job_id).error == said(bench, fence.job_id)["error"] == f"{died}; {DOUBT}; the last: killed"


def test_the_hop_before_does_not_count(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, STARTED))
    bench.do(c.HandOff(fence, new_target("review")))
    bench.do(c.Cancel(fence.job_id))
    assert bench.job(fence.job_id).error == ""
