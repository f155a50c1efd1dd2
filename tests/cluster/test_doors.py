"""How workers wait on a cluster: at one place for all partitions, and one delivery wakes one of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from batonpass.contracts.names import mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.cluster_watch import DoorWatch
from batonpass.coordinator.rows import Delivery
from batonpass.coordinator.store import Topic
from tests.harness.bench import MINUTE, Bench, fence_of, new_job, new_target
from tests.harness.children import Family
from tests.harness.cluster import ClusterHarness

QUEUE = new_target().queue
LONG = 60.0


@pytest.fixture
def bench(harness: ClusterHarness) -> Iterator[Bench]:
    with Bench(harness, side="async") as made:
        yield made


def claim(lease: int = MINUTE) -> c.Claim:
    return c.Claim("w", ((QUEUE, lease),), (mint("l"),))


async def woken(bench: Bench) -> list[Delivery]:
    """What a worker finds once a ring has woken it. Trouble with the server ends a wait too, and then it was not woken:
    on a busy machine, nodes stand still for longer than a client waits for an answer."""
    watch = bench.store.watch(Topic(queues=(QUEUE,)))
    assert isinstance(watch, DoorWatch)
    while not watch._knock:
        await watch.await_(LONG)
    return await bench.store.acall_after(watch, 0, claim())


async def waiting(bench: Bench, number: int) -> list[asyncio.Task[list[Delivery]]]:
    """Workers that wait at the door."""
    tasks = [asyncio.create_task(woken(bench)) for _ in range(number)]
    with_clients = bench.harness.server  # type: ignore[attr-defined]

    def blocked() -> int:
        infos = with_clients.info("clients", target_nodes="primaries")
        return sum(info["blocked_clients"] for info in infos.values())

    async with asyncio.timeout(LONG):
        while blocked() < number:
            await asyncio.sleep(0.005)
    return tasks


async def all_woken(bench: Bench) -> None:
    tasks = await waiting(bench, 3)
    for left in (2, 1, 0):
        began, asleep = time.monotonic(), [task for task in tasks if not task.done()]
        row = await bench.store.acall(new_job())  # whoever is woken may be done before this is answered
        done, rest = await asyncio.wait(asleep, return_when="FIRST_COMPLETED")
        assert time.monotonic() - began < LONG / 4
        assert [delivery.job.id for task in done for delivery in task.result()] == [row.id]
        assert len(rest) == left, "one delivery wakes one worker"


def test_one_delivery_wakes_one_worker(bench: Bench) -> None:
    bench.run(all_woken(bench))


async def passed_on(bench: Bench) -> list[int]:
    """Three deliveries of one thread's partition arrive while nobody waits; each worker takes one."""
    for _ in range(3):
        submit = new_job()
        submit.job_id = submit.thread = mint("j", 5)
        await bench.store.acall(submit)
    found: list[int] = []
    began = time.monotonic()
    for timeout in (LONG, LONG, LONG, 0.3):
        watch = bench.store.watch(Topic(queues=(QUEUE,)))
        found.append(len(await bench.store.acall_after(watch, timeout, claim())))
    assert time.monotonic() - began < LONG / 2
    return found


def test_what_one_worker_leaves_the_next_is_told(bench: Bench) -> None:
    assert bench.run(passed_on(bench)) == [1, 1, 1, 0]


async def missed(bench: Bench) -> int:
    await bench.store.acall(new_job())
    bench.harness.server.delete(f"{bench.store.prefix(0)}d:{QUEUE}")  # type: ignore[attr-defined]
    watch = bench.store.watch(Topic(queues=(QUEUE,)))
    return len(await bench.store.acall_after(watch, 0.2, claim()))


def test_a_lost_ring_costs_time_only(bench: Bench) -> None:
    assert bench.run(missed(bench)) == 1


def test_what_comes_back_rings_too(bench: Bench) -> None:
    """Released, answered, handed on, taken back from the dead, due: each at a door."""

    def rung() -> bool:
        watch = bench.store.watch(Topic(queues=(QUEUE, new_target("review").queue)))
        began = time.monotonic()
        bench.run(watch.await_(LONG))
        return time.monotonic() - began < LONG / 4

    bench.submit()
    assert rung()
    bench.do(c.Release(bench.take()))
    assert rung()
    fence = bench.take()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    assert rung()
    bench.do(c.HandOff(bench.take(), new_target("review")))
    assert rung()
    bench.do(c.Fail(bench.take(agent="review"), "boom", "", 1000))
    bench.clock.advance(1000)
    bench.do(c.Reap())
    assert rung()
    bench.take(agent="review", lease=1000)
    bench.clock.advance(1000)
    bench.do(c.Reap())
    assert rung()


LIMITS = {QUEUE: c.Limits("a" * 32, concurrency=1)}
ENDS: dict[str, Callable[[Bench, c.Fence], object]] = {
    "hand off": lambda bench, fence: bench.do(c.HandOff(fence, new_target("review"))),
    "suspend": lambda bench, fence: bench.suspend(fence),
    "sleep": lambda bench, fence: bench.do(c.Sleep(fence, MINUTE)),
    "release": lambda bench, fence: bench.do(c.Release(fence)),
    "crash": lambda bench, fence: bench.do(c.Release(fence, "it died")),
    "retry": lambda bench, fence: bench.do(c.Fail(fence, "boom", "", MINUTE)),
    "fan out": lambda bench, fence: Family(bench, fence, 1).spawn(),
    "interrupt": lambda bench, fence: bench.do(new_job("review", thread="limited", on_busy="interrupt")),
}


@pytest.mark.parametrize("end", ENDS)
def test_whoever_leaves_a_lane_rings_for_the_next_one(bench: Bench, end: str) -> None:
    first = bench.submit(thread="limited")
    watch = bench.store.watch(Topic(queues=(QUEUE,)))
    bench.run(watch.await_(LONG))
    follower = new_job()
    follower.job_id = follower.thread = mint("j", partition_of(first))
    bench.do(follower)
    bench.run(watch.await_(LONG))
    [delivery] = bench.do(replace(claim(), leases=(mint("l"), mint("l")), limits=LIMITS))
    ENDS[end](bench, fence_of(delivery))
    began = time.monotonic()
    assert bench.job(follower.job_id).reason == "ready"
    bench.run(watch.await_(LONG))
    assert time.monotonic() - began < LONG / 4
    assert isinstance(watch, DoorWatch)
    knock = watch.take()
    assert knock
    own = {"release": 1, "crash": 1, "fan out": 2}.get(end, 0)  # what it made ready itself rings at the same door
    assert knock.number == own + 1


async def taken_back(bench: Bench) -> list[int]:
    await bench.store.acall(new_job())
    watch = bench.store.watch(Topic(queues=(QUEUE,)))
    assert await bench.store.acall_after(watch, LONG, claim(lease=1000))
    tasks = await waiting(bench, 2)
    bench.clock.advance(1000)
    await bench.store.acall(c.Reap())
    async with asyncio.timeout(LONG / 2):
        return sorted(len(found) for found in await asyncio.gather(*tasks))


def test_what_a_dead_worker_left_wakes_one_more(bench: Bench) -> None:
    """The first one that waits may be the very worker that is frozen, and it would swallow the only wake-up."""
    assert bench.run(taken_back(bench)) == [0, 1]


async def interrupted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> int:
    """How much longer a note of an interruption lives, if only one command of the interruption got through."""
    watch = bench.store.watch(Topic(queues=(QUEUE,)))
    client = bench.store._link.here().client  # type: ignore[attr-defined]
    sent = client.execute_command
    crashed = iter([sent])

    async def once(*command: object, **options: object) -> object:
        if (send := next(crashed, None)) is None:
            raise ConnectionError("the worker is dead")
        return await send(*command, **options)

    await client.initialize()
    monkeypatch.setattr(client, "execute_command", once)
    with suppress(ConnectionError):
        await watch.ainterrupt()
    monkeypatch.undo()
    assert isinstance(watch, DoorWatch)
    left = int(bench.harness.server.pttl(watch._interrupt))  # type: ignore[attr-defined]
    began = time.monotonic()
    await watch.await_(LONG)
    assert time.monotonic() - began < LONG / 4
    return left


def test_an_interruption_that_nobody_waits_for_goes_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    left = bench.run(interrupted(bench, monkeypatch))
    assert 0 < left <= 10_000


def test_nothing_is_left_at_the_doors(bench: Bench, harness: ClusterHarness) -> None:
    """What nobody fetches expires, and so do the wake-ups of a single server's workers."""
    for _ in range(8):
        bench.submit()
    prefix = bench.store.prefix(0)  # type: ignore[attr-defined]
    left = harness.server.pttl(f"{prefix}d:{QUEUE}")
    assert 0 < left <= 10_000
    assert len(bench.claim(20)) == 8
    assert not [key for key in harness.kept() if "}:w:" in key]
