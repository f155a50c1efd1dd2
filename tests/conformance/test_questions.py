"""A job that asks waits for its answer, and goes on with it anywhere."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_target


def test_an_answer_makes_the_job_deliverable_again(bench: Bench) -> None:
    fence = bench.start()
    last = new_checkpoint(thread=fence.job_id)
    bench.do(c.Suspend(fence, b"sure?", last))
    bench.clock.advance(3)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.updated) == ("submitted", "ready", bench.clock.now)
    assert bench.happened(row.id)[-1] == "job.answered"
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.job.question, delivery.job.answer, delivery.checkpoint.id) == (b"sure?", b"yes", last.id)
    assert (delivery.job.hop, delivery.job.attempt) == (0, 1)


def test_who_answered_is_in_the_event(bench: Bench) -> None:
    """The first one: the same answer again, by another one, changes nothing."""
    fence = bench.start()
    bench.suspend(fence)
    for name in ("ann", "bob"):
        bench.do(c.AnswerJob(fence.job_id, b"yes", by=name))
    rows = bench.do(c.Events(subject=fence.job_id, limit=500))
    assert [row.fields.get("by") for row in rows if row.fields["type"].endswith(".answered")] == ["ann"]


def test_an_answer_stays_until_the_next_question(bench: Bench) -> None:
    """If a worker dies with it, the next one gets it, too."""
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    bench.do(c.Release(bench.take()))
    [delivery] = bench.claim()
    assert delivery.job.answer == b"yes"
    fence = delivery.job.fence
    bench.do(c.Suspend(fence, b"really?"))
    assert (bench.job(fence.job_id).question, bench.job(fence.job_id).answer) == (b"really?", b"")


def test_the_time_of_a_question_that_was_answered_is_over(bench: Bench) -> None:
    """Otherwise it would make a second delivery of a job that runs."""
    fence = bench.start()
    bench.do(c.Suspend(fence, b"sure?", timeout=MINUTE, otherwise=b"no"))
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    assert bench.do(c.Reap()).next_due == -1
    bench.take(lease=3 * MINUTE)
    bench.clock.advance(2 * MINUTE)
    with bench.nothing_changes():
        assert bench.do(c.Reap()).next_due == MINUTE


def test_the_first_answer_counts(bench: Bench) -> None:
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    with bench.nothing_changes():
        bench.do(c.AnswerJob(fence.job_id, b"yes"))
    with bench.refused(bp.WrongState, "is submitted: it has no open question"):
        bench.do(c.AnswerJob(fence.job_id, b"no"))


@pytest.mark.parametrize("state", ["submitted", "working", "completed", "canceled"])
def test_a_job_that_asks_nothing(bench: Bench, state: str) -> None:
    job_id = bench.submit()
    if state in ("working", "completed"):
        fence = bench.take()
        if state == "completed":
            bench.do(c.Complete(fence, b"result"))
    if state == "canceled":
        bench.do(c.Cancel(job_id))
    with bench.refused(bp.WrongState, f"is {state}: it has no open question"):
        bench.do(c.AnswerJob(job_id, b"yes"))


def test_a_question_keeps_its_thread(bench: Bench) -> None:
    fence = bench.start(thread="run")
    bench.suspend(fence)
    with bench.refused(bp.ThreadBusy):
        bench.submit(thread="run")


def test_a_question_in_a_later_hop_goes_back_to_that_agent(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.HandOff(fence, new_target("review")))
    fence = bench.take(agent="review")
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    assert bench.claim() == []
    assert bench.take(agent="review").job_id == fence.job_id


def test_the_next_hop_has_asked_nothing(bench: Bench) -> None:
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    bench.do(c.HandOff(bench.take(), new_target("review")))
    [delivery] = bench.claim(agent="review")
    assert (delivery.job.question, delivery.job.answer) == (b"", b"")
