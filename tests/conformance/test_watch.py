"""Wake-ups: who waits is woken by what it waits for, soon, and from every handle."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Topic
from tests.harness.bench import Bench, new_target

# A wake-up that never comes shows as a wait of this length.
FOREVER = 20.0


def wakes(bench: Bench, topic: Topic, change: Callable[[Bench], Any]) -> None:
    """After a look that found nothing, the change ends the wait."""
    watch = bench.store.watch(topic)
    other = bench.beside() if bench.harness.shared else bench
    bench.each(lambda: watch.wait(0.01), watch.aopen)
    change(other)
    began = time.monotonic()
    bench.each(lambda: watch.wait(FOREVER), lambda: watch.await_(FOREVER))
    assert time.monotonic() - began < FOREVER / 2
    bench.each(watch.close, watch.aclose)
    if other is not bench:
        other.close()


QUEUE = Topic(queues=(new_target("other").queue, new_target("write").queue))


def test_a_submitted_job_wakes_who_takes_from_its_queue(bench: Bench) -> None:
    wakes(bench, QUEUE, lambda other: other.submit())


def test_a_released_job_wakes_who_takes_from_its_queue(bench: Bench) -> None:
    fence = bench.start()
    assert bench.claim(5) == []
    wakes(bench, QUEUE, lambda other: other.do(c.Release(fence)))


def test_a_reaped_job_wakes_who_takes_from_its_queue(bench: Bench) -> None:
    bench.start(lease=1)
    assert bench.claim(5) == []
    bench.clock.advance(1)
    wakes(bench, QUEUE, lambda other: other.do(c.Reap()))


@pytest.mark.parametrize("everything", [False, True])
def test_the_end_of_a_job_wakes_who_waits_for_it(bench: Bench, everything: bool) -> None:
    fence = bench.start()
    topic = Topic() if everything else Topic(subject=fence.job_id)
    wakes(bench, topic, lambda other: other.do(c.Complete(fence, b"result")))


def test_a_wait_without_a_change_ends_in_its_time(bench: Bench) -> None:
    watch = bench.store.watch(Topic(subject=bench.submit()))
    began = time.monotonic()
    for _ in range(2):
        bench.each(lambda: watch.wait(0.05), lambda: watch.await_(0.05))
    assert time.monotonic() - began < FOREVER / 2
    bench.each(watch.close, watch.aclose)
