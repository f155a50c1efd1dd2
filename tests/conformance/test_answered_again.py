"""A retry of an answer that was taken: whoever sends it again, because its reply was lost, is told that all is well."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.harness.bench import Bench


@pytest.mark.parametrize("then", ["claimed", "completed", "failed"])
def test_an_answer_that_a_worker_has_taken_is_not_refused_when_it_comes_again(bench: Bench, then: str) -> None:
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
