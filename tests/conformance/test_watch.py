"""Wake-ups: whoever waits is woken by what it waits for, soon, and from every handle."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Delivery
from batonpass.coordinator.store import Topic, Watch
from tests.harness.bench import Bench, new_job, new_target

# A wake-up that never comes shows as a wait of this length.
FOREVER = 60.0


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


@pytest.mark.one_partition
def test_a_claim_that_only_moves_a_line_wakes_who_takes_from_its_queue(bench: Bench) -> None:
    def claim_with(concurrency: int) -> c.Claim:
        limits = {new_target().queue: c.Limits("a" * 32, concurrency=concurrency)}
        return replace(claim(), leases=(mint("l"), mint("l")), limits=limits)

    for _ in range(2):
        wakes(bench, QUEUE, lambda other: other.submit())
    assert len(bench.do(claim_with(1))) == 1, "the other one waits in line"
    wakes(bench, QUEUE, lambda other: other.submit())
    found: list[Delivery] = []
    wakes(bench, QUEUE, lambda other: found.extend(other.do(claim_with(2))))
    assert found == []
    assert len(bench.do(claim_with(2))) == 1


@pytest.mark.parametrize("everything", [False, True])
def test_the_end_of_a_job_wakes_who_waits_for_it(bench: Bench, everything: bool) -> None:
    fence = bench.start()
    topic = Topic() if everything else Topic(subject=fence.job_id)
    wakes(bench, topic, lambda other: other.do(c.Complete(fence, b"result")))


def test_what_came_so_far_wakes_once(bench: Bench) -> None:
    """Whoever is woken looks at everything that is there: a thousand changes are not a thousand looks."""
    watch = bench.store.watch(Topic())
    bench.each(lambda: watch.wait(0.01), watch.aopen)
    for _ in range(100):
        bench.save(None)
    waits, began = 0, time.monotonic()
    while time.monotonic() - began < 0.3:  # shorter ones were woken
        began, waits = time.monotonic(), waits + 1
        bench.each(lambda: watch.wait(0.4), lambda: watch.await_(0.4))
    assert waits < 20
    bench.each(watch.close, watch.aclose)


def test_a_wait_without_a_change_ends_in_its_time(bench: Bench) -> None:
    watch = bench.store.watch(Topic(subject=bench.submit()))
    began = time.monotonic()
    for _ in range(2):
        bench.each(lambda: watch.wait(0.05), lambda: watch.await_(0.05))
    assert time.monotonic() - began < FOREVER / 2
    bench.each(watch.close, watch.aclose)


def claim() -> c.Claim:
    return c.Claim("w", ((new_target().queue, 60_000),), (mint("l"),))


async def after(bench: Bench, change: Callable[[Watch], Awaitable[object]]) -> list[Delivery]:
    """What a worker claims if it waits while the change happens."""
    watch = bench.store.watch(QUEUE)
    await watch.aopen()
    found: list[Delivery] = []
    began = time.monotonic()

    async def wait() -> None:
        found.extend(await bench.store.acall_after(watch, FOREVER, claim()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await change(watch)
    assert time.monotonic() - began < FOREVER / 2
    await watch.aclose()
    return found


def test_a_worker_waits_and_claims_in_one_call(bench: Bench) -> None:
    if bench.side == "async":
        submitted = new_job()
        [delivery] = bench.run(after(bench, lambda _: bench.store.acall(submitted)))
        assert (delivery.job.id, bench.job(delivery.job.id).lease) == (submitted.job_id, delivery.job.lease)


def test_a_wait_is_interrupted(bench: Bench) -> None:
    """From another task, before and while it waits; the claim is carried out then."""
    if bench.side == "async":
        assert bench.run(after(bench, lambda watch: watch.ainterrupt())) == []
        bench.submit()
        [delivery] = bench.run(after(bench, lambda watch: watch.ainterrupt()))
        assert bench.state(delivery.job.id) == ("working", "")


def test_a_claim_after_a_wait_that_nothing_ends(bench: Bench) -> None:
    if bench.side == "async":
        watch = bench.store.watch(QUEUE)
        bench.run(watch.aopen())
        assert bench.run(bench.store.acall_after(watch, 0.05, claim())) == []
        bench.run(watch.aclose())
