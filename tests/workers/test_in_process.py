"""`async with app.worker(coordinator)`: a worker that comes and goes with a block, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.adapters.adapter import Adapter
from batonpass.workers.adapters import load_adapter
from tests.harness.waiting import wait_until

from .serving import Ask, Reply, kinds, only, reached, serving


@asynccontextmanager
async def pool(log: list[str]) -> AsyncIterator[dict[str, list[str]]]:
    log.append("opened")
    yield {"log": log}
    log.append("closed")


def answering(**options: Any) -> bp.App:
    return only(lambda ask: Reply(text=ask.text), **options)


@pytest.mark.parametrize("store", ["memory", "sqlite", "redis"])
def test_no_thread_and_no_task_is_left(store: str, request: pytest.FixtureRequest) -> None:
    url = "memory://" if store == "memory" else request.getfixturevalue(f"{store}_url")
    before = set(threading.enumerate())

    async def main() -> None:
        tasks = asyncio.all_tasks()
        async with serving(answering(), url) as coordinator:
            job = await coordinator.submit("a", Ask(text="x"), returns=Reply)
            assert (await job.result(timeout=30)).text == "x"
            assert "batonpass-keeper" in {thread.name for thread in threading.enumerate()}
        assert asyncio.all_tasks() == tasks
        assert "batonpass-keeper" not in {thread.name for thread in threading.enumerate()}

    anyio.run(main)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert {thread for thread in threading.enumerate() if thread.is_alive()} <= before


async def test_running_jobs_are_given_back_at_the_end_of_the_block(sqlite_url: str) -> None:
    async def sleeper(ask: Ask) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    app = only(sleeper)
    async with bp.connect(sqlite_url, app=app) as coordinator:
        async with app.worker(coordinator):
            job = await coordinator.submit("a", Ask())
            await reached(job, bp.JobState.WORKING)
        assert (await job.info()).state == bp.JobState.SUBMITTED
        assert (await kinds(coordinator, job))[-1] == "job.released"


async def test_a_job_claimed_while_the_worker_stops_is_given_back(store_url: str) -> None:
    async def sleeper(ask: Ask) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    app = only(sleeper)
    async with bp.connect(store_url, app=app) as coordinator:
        for _ in range(20):
            with anyio.fail_after(20):
                async with app.worker(coordinator):
                    job = await coordinator.submit("a", Ask())
            assert (await job.info()).state == bp.JobState.SUBMITTED
            await job.cancel()


@pytest.mark.parametrize("busy", [False, True])
async def test_an_error_in_the_block_comes_out_as_itself(busy: bool) -> None:
    async def sleeper(ask: Ask) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    own = KeyError("mine")
    with pytest.raises(KeyError) as raised:
        async with serving(only(sleeper)) as coordinator:
            if busy:
                await reached(await coordinator.submit("a", Ask()), bp.JobState.WORKING)
            raise own
    assert raised.value is own


async def test_a_worker_that_takes_long_to_begin_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def slowly(kind: str) -> Adapter:
        wait_until(lambda: "still loading function" in caplog.text)
        return load_adapter(kind)

    monkeypatch.setattr("batonpass.workers.late._SILENCE", 0.01)
    monkeypatch.setattr("batonpass.workers.worker.load_adapter", slowly)
    with caplog.at_level("INFO", "batonpass.worker"):
        async with serving(only(lambda ask, ctx: Reply(text="x"))):
            pass
    assert caplog.text.count("still") == 1


async def test_a_cancelled_block_stays_cancelled() -> None:
    async with anyio.create_task_group() as tasks:
        async with serving(answering()):
            tasks.cancel_scope.cancel()
            await anyio.sleep(60)
        raise AssertionError("the cancel was swallowed")


async def test_a_lifespan_is_entered_once_and_left() -> None:
    log: list[str] = []
    app = bp.App("resources", lifespan=lambda: pool(log))

    @app.agent("async", accepts=Ask, returns=Reply)
    async def async_agent(ask: Ask, ctx: bp.Context) -> Reply:
        ctx.resources["log"].append("async")
        return Reply(text="x")

    @app.agent("sync", accepts=Ask, returns=Reply)
    def sync_agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.resources["log"].append("sync")
        return Reply(text="x")

    async with serving(app) as coordinator:
        for agent in ("async", "sync", "async"):
            await (await coordinator.submit(agent, Ask())).result(timeout=30)
        assert log == ["opened", "async", "sync", "async"]
    assert log == ["opened", "async", "sync", "async", "closed"]


async def test_a_lifespan_that_fails_fails_the_worker_with_its_error() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise ConnectionError("no pool")
        yield

    app = bp.App("broken", lifespan=broken)
    app.agent("a", accepts=Ask, returns=Reply)(lambda ask: Reply(text=""))
    with pytest.raises(ConnectionError, match="no pool"):
        async with serving(app):
            await anyio.sleep(30)


async def test_app_run_gives_the_result_or_raises_what_result_raises(store_url: str) -> None:
    app = answering(retries=1)

    @app.agent("b", accepts=Ask, returns=Reply, retries=1)
    def fails(ask: Ask) -> Reply:
        raise ValueError("no")

    for store in ("memory://", store_url):
        assert await app.run("a", Ask(text="x"), returns=Reply, store=store) == Reply(text="x")
        assert await app.run(app["a"], {"text": "y"}, store=store, timeout=30) == Reply(text="y")
        with pytest.raises(bp.JobFailed, match="ValueError: no"):
            await app.run("b", Ask(), store=store)
    with pytest.raises(bp.UnknownAgent):
        await app.run("c", Ask())


async def test_app_run_does_not_wait_for_an_answer_that_nobody_can_give() -> None:
    async def asks(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.ask("sure?", timeout=0.01, default="by default") + await ctx.ask("who?"))

    app = only(asks)

    @app.agent("b", accepts=Ask, returns=Reply, hands_to={"a": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.fan_out([bp.Handoff("a", ask)])
        return Reply(text="joined")

    for agent in ("a", "b"):
        with (
            anyio.fail_after(20),
            pytest.raises(bp.Unanswered, match=r"agent 'a' asks 'who\?', and nobody can answer app\.run\(\) on memory"),
        ):
            await app.run(agent, Ask())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"concurrency": 0}, r"concurrency=0, but a worker needs at least 1 slot"),
        ({"agents": ["nosuch"]}, r"app 'one' has no agent 'nosuch'; it has a"),
        ({"agents": []}, r"is empty: leave it out to serve all agents"),
    ],
)
async def test_a_worker_that_can_not_work_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(bp.Refused, match=error):
        async with serving(answering(), **options):
            raise AssertionError


def test_a_framework_that_can_not_be_imported_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """CrewAI makes a folder in the user's home when it is imported, which may be read-only."""

    def load() -> None:
        raise OSError(30, "Read-only file system", "/home/a/.local/share")

    monkeypatch.setattr("batonpass.workers.adapters.plugged", lambda *_: [SimpleNamespace(load=load)])
    with pytest.raises(bp.BadSetup, match=r"kind 'crewai' can't be run here: OSError: .*file system: '/home/a/.local/"):
        load_adapter("crewai")
