"""Workers keep the limits of agents: never more jobs at once than allowed, and all of them done in the end."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from secrets import token_hex

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.workers.serving import kinds, reached


class Call(bp.Contract, name="limits.call"):
    customer: str
    number: int = 0


class Watched:
    """How many ran at once, of each customer."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.done = 0

    @contextmanager
    def inside(self, customer: str) -> Generator[None]:
        self.now[customer] += 1
        self.most[customer] = max(self.most[customer], self.now[customer])
        try:
            yield
        finally:
            self.now[customer] -= 1
        self.done += 1

    async def run(self, customer: str) -> None:
        with self.inside(customer):
            await anyio.sleep(0.01)


@pytest.fixture(params=["memory", "sqlite", "redis"])
def url(request: pytest.FixtureRequest, sqlite_url: str) -> str:
    """Each kind of store."""
    if request.param == "redis":
        # A namespace for each test: jobs left over would run in the next test.
        return f"{request.getfixturevalue('redis_server')}?namespace=limits-{token_hex(4)}"
    return sqlite_url if request.param == "sqlite" else "memory://"


async def test_so_many_of_each_key_over_all_workers(url: str) -> None:
    app, watched = bp.App("limits"), Watched()

    @app.agent("call", accepts=Call, returns=Call, concurrency=2, limit_by="customer")
    async def call(asked: Call, ctx: bp.Context) -> Call:
        await watched.run(asked.customer)
        if asked.number % 3 == 0 and ctx.attempt == 1:
            raise bp.RetryLater(0.01)
        return asked

    @app.agent("several", accepts=Call, returns=Call, hands_to={"call": Call})
    async def several(asked: Call, ctx: bp.Context) -> Call:
        await ctx.fan_out([bp.Handoff("call", asked) for _ in range(5)])
        return asked

    async with bp.connect(url, app=app) as coordinator:
        jobs = [await coordinator.submit("call", Call(customer=c, number=n)) for n in range(5) for c in ("a", "b")]
        jobs += [await coordinator.submit("several", Call(customer=c)) for c in ("a", "b")]
        async with app.worker(coordinator, concurrency=5), app.worker(coordinator, concurrency=5):
            for job in jobs:
                await job.result(timeout=30)
    assert watched.most == {"a": 2, "b": 2}


async def test_a_rate_is_kept(url: str) -> None:
    app, started = bp.App("rates"), list[int]()

    @app.agent("tick", accepts=Call, returns=Call, rate=bp.Rate(3, per=0.5))
    async def tick(asked: Call, ctx: bp.Context) -> Call:
        started.append(ctx.lease.token)  # the store's time of the claim, in ms
        return asked

    async with bp.connect(url, app=app) as coordinator:
        jobs = [await coordinator.submit("tick", Call(customer="a")) for _ in range(8)]
        async with app.worker(coordinator, concurrency=8):
            for job in jobs:
                await job.result(timeout=30)
    started.sort()
    assert all(later - earlier >= 500 for earlier, later in zip(started, started[3:], strict=False))


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"concurrency": 0}, "it must be at least 1"),
        ({"limit_by": "customer"}, r"limits nothing: add concurrency= or rate="),
        ({"limit_by": "user", "concurrency": 1}, r"'user' is not a field of limits\.call@1"),
    ],
)
def test_limits_that_can_not_be_meant(options: dict[str, object], advice: str) -> None:
    with pytest.raises(bp.BadSetup, match=advice):
        bp.App("x").agent("x", accepts=Call, returns=Call, **options)(lambda call: call)  # type: ignore[call-overload]


@pytest.mark.parametrize(("count", "per"), [(0, 1), (10_001, 1), (1, 0), (1, float("nan")), (1, float("inf"))])
def test_rates_that_can_not_be_meant(count: int, per: float) -> None:
    with pytest.raises(bp.BadSetup, match="Rate"):
        bp.Rate(count, per=per)


@pytest.mark.parametrize("beside", [False, True])
async def test_another_rate_counts_for_what_waits(beside: bool, url: str) -> None:
    """Also for lines of jobs with one value each: when an app starts with another rate, all are looked at again, and
    when a worker with the old rate stops, which may have made them wait once more."""

    def limited(rate: bp.Rate) -> bp.App:
        app = bp.App("limits")
        decorator = app.agent("call", accepts=Call, returns=Call, rate=rate, limit_by="customer")
        decorator(lambda asked: asked)
        return app

    slow, fast = limited(bp.Rate(1, per=3600)), limited(bp.Rate(1000, per=3600))
    async with bp.connect(url, app=slow) as coordinator:
        async with slow.worker(coordinator):
            jobs = [await coordinator.submit("call", Call(customer=c)) for _ in range(3) for c in ("a", "b")]
            for job in jobs[2:]:
                await reached(job, bp.JobState.SUBMITTED, reason="rate_limited")
            for job in jobs[:2]:
                await job.result(timeout=30)
            if beside:
                await fast.declare(coordinator)
                with anyio.fail_after(30):
                    while (await kinds(coordinator, jobs[2])).count("job.limited") < 2:
                        await anyio.sleep(0.01)
        async with fast.worker(coordinator):
            for job in jobs[2:]:
                await job.result(timeout=30)


async def test_more_at_once_count_before_the_next_one_ends(url: str) -> None:
    hung = anyio.Event()

    def limited(concurrency: int) -> bp.App:
        app = bp.App("limits")

        @app.agent("call", accepts=Call, returns=Call, concurrency=concurrency, limit_by="customer")
        async def call(asked: Call, ctx: bp.Context) -> Call:
            if not asked.number:
                await hung.wait()
            return asked

        return app

    few, more = limited(1), limited(2)
    async with bp.connect(url, app=few) as coordinator:
        jobs = [await coordinator.submit("call", Call(customer="a", number=n)) for n in range(4)]
        async with few.worker(coordinator, concurrency=4) as worker:
            await reached(jobs[3], bp.JobState.SUBMITTED, reason="limited")
            worker.stop()
            async with more.worker(coordinator):
                for job in jobs[1:]:
                    await job.result(timeout=30)
            hung.set()


class Sized(bp.Contract, name="limits.sized"):
    customer: str = "all"
    size: float = 1


@pytest.mark.parametrize(
    ("limit_by", "sent", "same"),
    [("customer", {}, True), ("size", {}, True), ("size", {"size": 1}, True), ("size", {"size": 2}, False)],
)
async def test_a_program_without_the_class_has_the_same_lane(
    limit_by: str, sent: dict[str, float], same: bool, store_url: str
) -> None:
    app = bp.App("limits")
    app.agent("call", accepts=Sized, returns=Sized, concurrency=1, limit_by=limit_by)(lambda asked: asked)
    async with bp.connect(store_url, app=app) as coordinator:
        await app.declare(coordinator)
        sending = [sys.executable, "-m", "batonpass", "submit", "call", json.dumps(sent), "--store", store_url]
        other = (await anyio.run_process(sending)).stdout.decode().strip()
        jobs = [coordinator.job(other), await coordinator.submit("call", Sized())]
        lanes = {(await coordinator.store.acall(c.ReadJob(job.id))).lane for job in jobs}
        assert (len(lanes) == 1, "" in lanes) == (same, False)


async def test_workers_that_differ_keep_between_their_numbers(url: str) -> None:
    """One job hangs; the others get done if at least as many run as the smaller number says. Never more run than the
    larger number says, and that many run as soon as the other worker is gone."""
    watched, hung = Watched(), anyio.Event()

    def limited(concurrency: int) -> bp.App:
        app = bp.App("limits")

        @app.agent("call", accepts=Call, returns=Call, concurrency=concurrency)
        async def call(asked: Call, ctx: bp.Context) -> Call:
            with watched.inside("a"):
                await (anyio.sleep(0.01) if asked.number else hung.wait())
            return asked

        return app

    few, more = limited(2), limited(4)
    async with bp.connect(url, app=more) as coordinator, more.worker(coordinator, concurrency=8):
        async with few.worker(coordinator, concurrency=8):
            jobs = [await coordinator.submit("call", Call(customer="a", number=n)) for n in range(10)]
            for job in jobs[1:]:
                await job.result(timeout=30)
        assert 2 <= watched.most["a"] <= 4
        hanging = [await coordinator.submit("call", Call(customer="a")) for _ in range(4)]
        for job in hanging[:3]:
            await reached(job, bp.JobState.WORKING)
        await reached(hanging[3], bp.JobState.SUBMITTED, reason="limited")
        with anyio.fail_after(30):
            while watched.most["a"] < 4:  # a job is working before its agent's code is
                await anyio.sleep(0.01)
        hung.set()
        for job in (jobs[0], *hanging):
            await job.result(timeout=30)
        assert watched.most["a"] == 4
