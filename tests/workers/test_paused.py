"""Pauses against workers that claim at the same moment, and for workers that wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import anyio
import pytest
import redis

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import queue_of
from batonpass.workers import claiming

from .serving import DEADLINE, Ask, Reply, only, reached, serving

QUEUE = queue_of("a", contract_ref(Ask))
PLACES = ["sqlite", "redis", "cluster"]


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A store of each kind that several processes may use."""
    if request.param == "cluster":
        made: str = request.getfixturevalue("cluster_place")()
        return made
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


def app() -> bp.App:
    return only(lambda ask: Reply(text=ask.text))


def claims(url: str, ended: Event) -> list[tuple[float, float, str]]:
    """Claim and give back as fast as possible; when each claim that brought a job began and ended, and the job."""
    found = list[tuple[float, float, str]]()
    with bp.connect(url, app=app()) as coordinator:
        while not ended.is_set():
            began = time.monotonic()
            for each in coordinator.store.call(c.Claim("w", ((QUEUE, 60_000),), (mint("l"), mint("l")))):
                found.append((began, time.monotonic(), each.job.id))
                coordinator.store.call(c.Release(each.job.fence, aside=True))
    return found


@pytest.mark.parametrize("url", PLACES, indirect=True)
def test_no_claim_that_begins_after_a_pause_takes_a_job(url: str) -> None:
    ended, paused = Event(), list[tuple[float, float]]()
    with bp.connect(url, app=app()) as coordinator, ThreadPoolExecutor(3) as pool:
        jobs = {coordinator.submit("a", Ask(number=n)).id for n in range(12)}
        claiming_now = [pool.submit(claims, url, ended) for _ in range(3)]
        for _ in range(6):
            time.sleep(0.15)
            assert coordinator.pause_agent("a")
            returned = time.monotonic()
            time.sleep(0.1)
            paused.append((returned, time.monotonic()))
            assert coordinator.resume_agent("a")
        time.sleep(0.15)
        ended.set()
        found = [each for one in claiming_now for each in one.result()]
        assert {job for _, _, job in found} == jobs  # none was lost
        taken = [(began, done) for began, done, _ in found]
        assert [at for at in taken if any(since < at[0] and at[1] < until for since, until in paused)] == []
        assert len(found) > 50
        assert {info.state for info in coordinator.jobs()} == {"submitted"}


@pytest.mark.parametrize("url", PLACES, indirect=True)
async def test_a_worker_that_waits_starts_soon_after(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "_LOOK", 100.0)
    ran = list[int]()

    async def agent(ask: Ask) -> Reply:
        ran.append(ask.number)
        return Reply(text="")

    async with serving(only(agent), url, concurrency=2) as coordinator:
        assert await coordinator.pause_agent("a", reason="no model")
        jobs = [await coordinator.submit("a", Ask(number=n), returns=Reply) for n in range(5)]
        await anyio.sleep(0.5)
        infos = [await job.info() for job in jobs]
        assert (ran, {(info.state, info.paused.reason) for info in infos if info.paused}) == (
            [],
            {("submitted", "no model")},
        )
        async with bp.connect(url) as elsewhere:  # which knows of the agent from the store only
            began = time.monotonic()
            await elsewhere.resume_agent("a")
        for job in jobs:
            await job.result(timeout=DEADLINE)
        assert time.monotonic() - began < 1.0


async def test_a_worker_that_waits_asks_no_more_often_than_ever(redis_url: str) -> None:
    server: Any = redis.Redis.from_url(redis_url.partition("?")[0])

    def asked() -> int:
        return sum(told["calls"] for name, told in server.info("commandstats").items() if "evalsha" in name)

    async def count(seconds: float) -> float:
        before = asked()
        await anyio.sleep(seconds)
        return (asked() - before) / seconds

    async with serving(app(), redis_url) as coordinator:
        await coordinator.pause_agent("a")
        for _ in range(3):
            await coordinator.submit("a", Ask())
        await anyio.sleep(1)
        assert await count(6) < 2
    server.close()


async def test_what_runs_goes_on_and_what_it_hands_on_waits(new_url: Callable[[str], str]) -> None:
    made, gate = bp.App("two"), anyio.Event()

    @made.agent("a", accepts=Ask, hands_to={"b": Ask})
    async def a(ask: Ask) -> bp.Handoff:
        await gate.wait()
        return bp.Handoff("b", Ask(text="from a"))

    @made.agent("b", accepts=Ask, returns=Reply)
    async def b(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    async with serving(made, new_url("sqlite")) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.WORKING)
        assert await coordinator.pause_agent("a")
        assert await coordinator.pause_agent("b")
        gate.set()
        info = await reached(job, bp.JobState.SUBMITTED)
        assert (info.agent, info.reason, info.paused is not None) == ("b", "ready", True)
        await coordinator.resume_agent("b")
        assert (await job.result(timeout=DEADLINE)).text == "from a"
