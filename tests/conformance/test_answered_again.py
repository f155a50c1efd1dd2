"""A retry of an answer that was taken: if it is sent again because the reply was lost, that is no error."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import inbox
from tests.harness.bench import Bench


@pytest.mark.parametrize("then", ["claimed", "completed", "failed"])
def test_an_answer_is_accepted_again_after_a_worker_took_it(bench: Bench, then: str) -> None:
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    fence = bench.take()
    if then == "completed":
        bench.do(c.Complete(fence, b"result"))
    if then == "failed":
        bench.do(c.Fail(fence, "no", "attempts"))
    with bench.nothing_changes():
        bench.do(c.AnswerJob(fence.job_id, b"yes"))
    with bench.refused(bp.WrongState, "it has no open question"):
        bench.do(c.AnswerJob(fence.job_id, b"no"))


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
def test_an_answer_is_for_no_question_that_comes_up_on_its_way(bench: Bench, before: int) -> None:
    """Whoever answers a job has seen what it asked when the call began."""
    fence = bench.start()
    for _ in range(before):
        bench.suspend(fence)
        bench.do(c.AnswerJob(fence.job_id, b"yes"))
        fence = bench.take()
    call = inbox.answer(Book(None), fence.job_id, "no")
    looked = bench.do(next(call))
    bench.suspend(fence)
    with bench.nothing_changes(), pytest.raises(bp.WrongState):
        command = call.send(looked)
        while True:
            try:
                answered = bench.do(command)
            except bp.BatonpassError as error:
                command = call.throw(error)
            else:
                command = call.send(answered)
