"""A worker runs as many deliveries at once as it has slots, no more; and news travels without polling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.calls import awaiting
from batonpass.workers import claiming

from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving


class Crowd:
    """Counts who is inside. Nobody leaves before the test opens the door."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.door = threading.Event()

    def enter(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def leave(self) -> None:
        with self._lock:
            self.inside -= 1

    async def filled(self, number: int) -> None:
        with anyio.fail_after(DEADLINE):
            while self.inside < number:
                await anyio.sleep(0.01)


def sync_agent(crowd: Crowd) -> Callable[..., Reply]:
    def agent(ask: Ask) -> Reply:
        crowd.enter()
        crowd.door.wait(DEADLINE)
        crowd.leave()
        return Reply(text=str(ask.number))

    return agent


def async_agent(crowd: Crowd) -> Callable[..., Any]:
    async def agent(ask: Ask) -> Reply:
        crowd.enter()
        while not crowd.door.is_set():
            await anyio.sleep(0.01)
        crowd.leave()
        return Reply(text=str(ask.number))

    return agent


@pytest.mark.parametrize(("slots", "how"), [(1, "sync"), (3, "sync"), (3, "async"), (50, "sync"), (50, "async")])
async def test_n_slots_run_n_jobs_at_once_and_not_more(slots: int, how: str, sqlite_url: str) -> None:
    crowd = Crowd()
    app = only((async_agent if how == "async" else sync_agent)(crowd))
    async with bp.connect(sqlite_url, app=app) as coordinator:
        jobs = [await coordinator.submit("a", Ask(number=n), returns=Reply) for n in range(slots + 5)]
        async with app.worker(coordinator, concurrency=slots):
            try:
                await crowd.filled(slots)
                assert len(await coordinator.jobs(state="working", limit=100)) == slots
            finally:
                crowd.door.set()
            with anyio.fail_after(DEADLINE):
                replies = [await job.result() for job in jobs]
        assert [reply.text for reply in replies] == [str(n) for n in range(slots + 5)]
        assert {(await kinds(coordinator, job)).count("job.started") for job in jobs} == {1}
    assert crowd.most == slots


async def test_slots_stay_as_many_job_after_job(redis_url: str) -> None:
    """A slot is passed on when its agent is done, before its job's end is written, and only once."""
    crowd = Crowd()

    async def passes(ask: Ask) -> Reply:
        crowd.enter()
        await anyio.sleep(0.005)
        crowd.leave()
        return Reply(text=str(ask.number))

    app = only(passes)
    async with bp.connect(redis_url, app=app) as coordinator:
        jobs = [await coordinator.submit("a", Ask(number=n), returns=Reply) for n in range(40)]
        async with app.worker(coordinator, concurrency=3):
            with anyio.fail_after(DEADLINE):
                assert [(await job.result()).text for job in jobs] == [str(n) for n in range(40)]
    assert crowd.most == 3


async def test_full_slots_of_sync_code_do_not_hold_up_the_worker(sqlite_url: str) -> None:
    """The store's own calls have threads to run in, however many the agents block."""
    crowd = Crowd()
    app = bp.App("two")
    app.agent("blocks", accepts=Ask, returns=Reply)(sync_agent(crowd))

    @app.agent("saves", accepts=Ask, returns=Reply)
    async def saves(ask: Ask, ctx: bp.Context) -> Reply:
        await crowd.filled(60)
        return Reply(text=await ctx.step("work", str, "saved"))

    async with serving(app, sqlite_url, concurrency=61) as coordinator:
        job = await coordinator.submit("saves", Ask(), returns=Reply)
        await reached(job, bp.JobState.WORKING)
        blocked = [await coordinator.submit("blocks", Ask(number=n)) for n in range(60)]
        try:
            assert (await job.result(timeout=DEADLINE)).text == "saved"
            assert (await blocked[0].info()).state == bp.JobState.WORKING
        finally:
            crowd.door.set()


@pytest.mark.parametrize("store", ["memory", "sqlite", "redis"])
async def test_a_result_and_a_delivery_wake_those_who_wait(
    store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With looks only every 100 s, a job still goes through at once: all waiting is for wake-ups."""
    monkeypatch.setattr(awaiting, "_LOOK", 100.0)
    monkeypatch.setattr(claiming, "_LOOK", 100.0)
    url = "memory://" if store == "memory" else request.getfixturevalue(f"{store}_url")
    go_on = anyio.Event()

    async def waits(ask: Ask) -> Reply:
        await go_on.wait()
        return Reply(text="at once")

    async with serving(only(waits), url) as coordinator:
        await anyio.wait_all_tasks_blocked()  # the worker waits
        job = await coordinator.submit("a", Ask(), returns=Reply)
        sent = time.monotonic()
        await reached(job, bp.JobState.WORKING)
        taken = time.monotonic() - sent
        times: list[float] = []
        async with anyio.create_task_group() as tasks:

            async def result() -> None:
                await job.result(timeout=DEADLINE)
                times.append(time.monotonic())

            tasks.start_soon(result)
            await anyio.wait_all_tasks_blocked()
            go_on.set()
            times.append(time.monotonic())
        assert taken < 50
        assert times[1] - times[0] < 50


@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_a_result_wakes_a_sync_client(
    store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaiting, "_LOOK", 100.0)
    url: str = request.getfixturevalue(f"{store}_url")
    go_on = threading.Event()
    app = only(lambda ask: Reply(text=str(go_on.wait(DEADLINE))))
    times: list[float] = []

    async def work() -> None:
        async with serving(app, url):
            while not times:
                await anyio.sleep(0.01)

    thread = threading.Thread(target=anyio.run, args=(work,))
    with bp.connect(url, app=app) as coordinator:
        job = coordinator.submit("a", Ask(), returns=Reply)
        thread.start()
        threading.Timer(0.5, go_on.set).start()  # `result` has most likely gone to wait by then
        try:
            assert job.result(timeout=DEADLINE).text == "True"
        finally:
            times.append(time.monotonic())
            thread.join()
        ended = job.info().updated_at.timestamp()
        assert time.time() - ended < 50  # thread.join() included; polling would have taken 100 s
