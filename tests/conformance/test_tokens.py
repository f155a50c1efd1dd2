"""Fencing tokens grow with every lease of a job, and never come again."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_target


def test_they_grow_whatever_ended_the_lease(bench: Bench) -> None:
    tokens = []
    fence = bench.start(lease=MINUTE)
    tokens.append(fence.token)
    bench.do(c.Release(fence))
    fence = bench.take()
    tokens.append(fence.token)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    fence = bench.take()
    tokens.append(fence.token)
    bench.do(c.Fail(fence, "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    fence = bench.take()
    tokens.append(fence.token)
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    fence = bench.take()
    tokens.append(fence.token)
    bench.do(c.HandOff(fence, new_target("review")))
    tokens.append(bench.take(agent="review").token)
    assert tokens == sorted(set(tokens))


def test_they_grow_within_one_millisecond(bench: Bench) -> None:
    fence = bench.start()
    tokens = [fence.token]
    for _ in range(20):
        bench.do(c.Release(fence))
        fence = bench.take()
        tokens.append(fence.token)
    assert tokens == list(range(tokens[0], tokens[0] + 21))


def test_they_come_from_the_clock(bench: Bench) -> None:
    """So that a store which lost its last writes never gives a token again that it gave before."""
    fence = bench.start()
    assert fence.token >= bench.clock.now
    bench.do(c.Release(fence))
    bench.clock.advance(MINUTE)
    assert bench.take().token >= bench.clock.now


def test_a_clock_that_goes_back_does_not_take_them_along(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Release(fence))
    bench.clock.advance(-MINUTE)
    assert bench.take().token == fence.token + 1
