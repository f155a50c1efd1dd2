"""A job that sleeps has no worker, and goes on when its time has come."""

from __future__ import annotations

import pytest

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_checkpoint


def test_it_goes_on_from_its_last_checkpoint(bench: Bench) -> None:
    fence = bench.start()
    bench.save(fence, thread=fence.job_id, records={"a": b"1"})
    last = new_checkpoint(thread=fence.job_id)
    bench.do(c.Sleep(fence, MINUTE, last))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.due, row.lease) == ("submitted", "sleeping", bench.clock.now + MINUTE, "")
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    assert bench.claim() == []
    bench.clock.advance(1)
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert (*bench.state(row.id), bench.job(row.id).due) == ("submitted", "ready", 0)
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.checkpoint.id, dict(delivery.journal)) == (last.id, {"a": b"1"})
    assert (delivery.job.hop, delivery.job.attempt) == (0, 1)
    assert bench.happened(row.id)[-4:] == ["checkpoint.saved", "job.sleeping", "job.submitted", "job.started"]


def test_it_tells_until_when(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Sleep(fence, MINUTE, new_checkpoint(thread=fence.job_id)))
    event = bench.do(c.Events(subject=fence.job_id))[-1].fields
    assert (event["due"], event["checkpoint"]) == (str(bench.clock.now + MINUTE), bench.job(fence.job_id).tip)


def test_no_time_is_as_soon_as_somebody_looks(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Sleep(fence, 0))
    bench.clock.advance(1)
    assert bench.do(c.Reap()).moved == 1
    assert bench.take().job_id == fence.job_id


def test_its_thread_stays_its_own(bench: Bench) -> None:
    fence = bench.start(thread="run")
    bench.do(c.Sleep(fence, MINUTE))
    waiting = bench.submit(thread="run", on_busy="queue")
    assert bench.state(waiting) == ("submitted", "thread_busy")
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    bench.do(c.Complete(bench.take(), b"result"))
    assert bench.take().job_id == waiting


@pytest.mark.parametrize("end", [c.Cancel, c.DeleteJob])
def test_its_time_goes_with_it(bench: Bench, end: type[c.Command[object]]) -> None:
    fence = bench.start()
    bench.do(c.Sleep(fence, MINUTE))
    assert bench.do(c.Cancel(fence.job_id))
    if end is c.DeleteJob:
        bench.do(c.DeleteJob(fence.job_id))
    assert bench.do(c.Reap()).next_due == -1


def test_it_has_come_this_far(bench: Bench) -> None:
    """So what went wrong before does not count any more: a job may look for something for weeks."""
    bench.do(c.Fail(bench.start(), "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    bench.do(c.Release(bench.take(), "it died"))
    fence = bench.take()
    row = bench.job(fence.job_id)
    assert (row.attempt, row.crashes, row.error, row.failing > 0) == (2, 1, "boom", True)
    bench.do(c.Sleep(fence, MINUTE))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    bench.take()
    row = bench.job(fence.job_id)
    assert (row.attempt, row.crashes, row.error, row.failing) == (1, 0, "", 0)


def test_its_deadline_comes_first(bench: Bench) -> None:
    bench.submit(terms=c.Terms(deadline=bench.clock.now + MINUTE))
    fence = bench.take()
    bench.do(c.Sleep(fence, 2 * MINUTE))
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    assert bench.state(fence.job_id) == ("failed", "deadline")
    assert bench.do(c.Reap()).next_due == -1
