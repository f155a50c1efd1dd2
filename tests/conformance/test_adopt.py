"""Adopting: a job that ran in another store is here as it was there, and continues only if somebody says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.contracts.names import home, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import JobRow, KeptJob, OutcomeRow
from tests.harness.bench import Bench, fence_of, new_checkpoint, new_target

_ENDED = [("f" * 24, OutcomeRow("j" * 24, number, "completed", result=b"1")) for number in range(2)]


def adopting(state: str, thread: str = "run") -> c.Adopt:
    """A job with a journal and outcomes."""
    to = new_target()
    row = JobRow(mint("j", home(thread)), thread, state, "why", to.agent, to.contract, to.queue, envelope=to.envelope)
    row.created, row.updated, row.asked, row.token, row.error = 5, 6, 7, 8, "boom"
    return c.Adopt(KeptJob(row, {"a": b"1", "b": b"2"}, _ENDED), [{"was": "job.started", "at": "then"}])


@pytest.mark.parametrize("state", ["failed", "completed", "canceled", "rejected", "input_required"])
def test_it_is_here_as_it_was(bench: Bench, state: str) -> None:
    adopt = adopting(state)
    bench.do(adopt)
    with bench.nothing_changes():
        bench.do(adopt)
    assert bench.do(c.ReadKept(adopt.job_id)) == adopt.kept
    assert bench.do(c.ListJobs()) == [adopt.kept.job]
    assert bench.do(c.ListJobs(dead=True)) == ([adopt.kept.job] if state == "failed" else [])
    assert bench.do(c.Inbox()) == ([adopt.kept.job] if state == "input_required" else [])
    assert bench.do(c.Threads()) == ["run"]
    assert bench.happened(adopt.job_id) == ["event.imported"]
    assert bench.claim() == []


@pytest.mark.parametrize("state", ["failed", "input_required"])
@pytest.mark.parametrize("saved", [False, True])
def test_it_goes_on(bench: Bench, state: str, saved: bool) -> None:
    adopt = adopting(state)
    if saved:
        new = new_checkpoint(thread="run")
        bench.do(c.Import("run", 0, [new], [""], [c.Stamp(4, 5, "first")]))
        adopt.kept.job.tip = new.id
    bench.do(adopt)
    if state == "failed":
        bench.do(c.Redrive(adopt.job_id))
    else:
        bench.do(c.AnswerJob(adopt.job_id, b"yes", 7))
    [delivery] = bench.claim()
    assert delivery.job.token > 8
    assert dict(delivery.journal) == {"a": b"1", "b": b"2"}
    assert (delivery.checkpoint is not None) is saved
    fence = fence_of(delivery)
    commit = bench.do(c.Save("run", new_checkpoint(thread="run"), fence))
    assert (commit.step_index, commit.parent) == ((5, adopt.kept.job.tip) if saved else (0, ""))
    bench.do(c.Complete(fence, b"done", new_checkpoint(thread="run")))
    assert bench.state(adopt.job_id)[0] == "completed"
    bench.start(thread="run")


def test_a_thread_has_one_owner(bench: Bench) -> None:
    bench.start(thread="run")
    with bench.refused(bp.ThreadBusy):
        bench.do(adopting("input_required"))
    bench.do(adopting("failed"))
    bench.do(adopting("input_required", "other"))
    with bench.refused(bp.ThreadBusy):
        bench.save(None, thread="other")


def test_it_goes_with_its_thread(bench: Bench) -> None:
    for thread in ("run", "other"):
        adopt = adopting("failed", thread)
        bench.do(adopt)
    own = replace(adopt.kept.job, id=(job_id := mint("j")), thread=job_id)
    bench.do(c.Adopt(replace(adopt.kept, job=own)))
    bench.do(c.DeleteThread("run"))
    bench.do(c.DeleteJob(adopt.job_id))
    bench.do(c.DeleteJob(job_id))
    assert bench.do(c.ListJobs()) == []
    assert bench.do(c.Threads()) == []
