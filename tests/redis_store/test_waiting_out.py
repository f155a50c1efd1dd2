"""A wait for a job continues while its store is away, as long as there is time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.redis import denial
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.workers.serving import Ask, Reply, only, reached, serving

pytestmark = [
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
    pytest.mark.timeout(120),
]
SIDES = pytest.mark.parametrize("side", ["sync", "async"])
Use = Callable[[Any], Any]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as made:
        yield made


def used(url: str, job_id: str, side: str, use: Use, ause: Use) -> Any:
    """What another client gets of a job, from sync or async code."""
    if side == "sync":
        with bp.connect(url) as coordinator:
            return use(coordinator.job(job_id))

    async def alone() -> Any:
        async with bp.connect(url) as coordinator:
            return await ause(coordinator.job(job_id))

    return asyncio.run(alone())


def notices(caplog: pytest.LogCaptureFixture) -> Callable[[], bool]:
    """Whether somebody waits for a store that is away."""
    return lambda: any("is seen late: no Redis at" in record.getMessage() for record in caplog.records)


@SIDES
@pytest.mark.parametrize("timeout", [60, None], ids=["", "for ever"])
async def test_a_result_is_waited_for_while_redis_restarts(
    own_redis: RedisServer,
    side: str,
    timeout: float | None,
    caplog: pytest.LogCaptureFixture,
    pool: ThreadPoolExecutor,
) -> None:
    go, begun = threading.Event(), threading.Event()

    def works(ask: Ask, ctx: bp.SyncContext) -> Reply:
        go.wait(60)
        return Reply(text="done")

    def use(job: bp.SyncJob[Any]) -> Any:
        begun.set()
        return job.result(timeout=timeout)

    async def ause(job: bp.Job[Any]) -> Any:
        begun.set()
        return await job.result(timeout=timeout)

    async with serving(only(works), own_redis.url) as coordinator:
        job = await coordinator.submit("a", Ask())
        found = pool.submit(used, own_redis.url, job.id, side, use, ause)
        await reached(job, bp.JobState.WORKING)
        await anyio.to_thread.run_sync(begun.wait, 60)
        own_redis.kill()
        await anyio.to_thread.run_sync(wait_until, lambda: found.done() or notices(caplog)())
        own_redis.start()
        go.set()
        result = await asyncio.wrap_future(found)
        assert dict(result) == {"text": "done"}


@SIDES
async def test_what_is_streamed_goes_on_where_it_was(
    own_redis: RedisServer, side: str, caplog: pytest.LogCaptureFixture, pool: ThreadPoolExecutor
) -> None:
    go, got = threading.Event(), list[Any]()

    def talks(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.emit("one")
        go.wait(60)
        ctx.emit("two")
        return Reply(text="done")

    def use(job: bp.SyncJob[Any]) -> None:
        for part in job.stream():
            got.append(part)

    async def ause(job: bp.Job[Any]) -> None:
        async for part in job.stream():
            got.append(part)

    async with serving(only(talks), own_redis.url) as coordinator:
        job = await coordinator.submit("a", Ask())
        reading = pool.submit(used, own_redis.url, job.id, side, use, ause)
        await anyio.to_thread.run_sync(wait_until, lambda: reading.done() or bool(got))
        own_redis.kill()
        await anyio.to_thread.run_sync(wait_until, lambda: reading.done() or notices(caplog)())
        own_redis.start()
        go.set()
        await asyncio.wrap_future(reading)
        assert got == ["one", "two"]


@SIDES
def test_a_store_that_stays_away_is_told_when_the_time_is_over(own_redis: RedisServer, side: str) -> None:
    with bp.connect(own_redis.url, app=only(print)) as coordinator:
        job_id = coordinator.submit("a", Ask()).id

    def use(job: bp.SyncJob[Any]) -> None:
        own_redis.kill()
        job.result(timeout=4)

    async def ause(job: bp.Job[Any]) -> None:
        own_redis.kill()
        await job.result(timeout=4)

    began = time.monotonic()
    with pytest.raises(bp.Unreachable, match="no Redis at"):
        used(own_redis.url, job_id, side, use, ause)
    assert time.monotonic() - began > 4


@SIDES
def test_a_refused_login_is_waited_out_for_a_while(
    own_redis: RedisServer, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denial, "LASTING", 2.0)
    with bp.connect(own_redis.url, app=only(print)) as coordinator:
        job_id = coordinator.submit("a", Ask()).id

    def lock() -> None:
        with own_redis.client() as server:
            server.config_set("requirepass", "secret")
            server.execute_command("CLIENT KILL TYPE normal")

    def use(job: bp.SyncJob[Any]) -> None:
        lock()
        job.result()

    async def ause(job: bp.Job[Any]) -> None:
        lock()
        await job.result()

    began = time.monotonic()
    with pytest.raises(bp.Unreachable, match=r"refused the login.* It was let in before"):
        used(own_redis.url, job_id, side, use, ause)
    assert time.monotonic() - began > 2


async def test_the_command_line_waits_too(own_redis: RedisServer) -> None:
    go = threading.Event()

    def works(ask: Ask, ctx: bp.SyncContext) -> Reply:
        go.wait(60)
        return Reply(text="done")

    async with serving(only(works), own_redis.url) as coordinator:
        options = ("--wait", "--timeout", "60", "--store", own_redis.url)
        command = (sys.executable, "-m", "batonpass", "submit", "a", "{}", *options)
        async with await anyio.open_process(command, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said = (await process.stderr.receive()).decode()
            await reached(coordinator.job(said.split()[1]), bp.JobState.WORKING)
            own_redis.kill()
            with anyio.fail_after(60):
                while "waiting: no Redis at" not in said:
                    said += (await process.stderr.receive()).decode()
            own_redis.start()
            go.set()
            assert json.loads(await process.stdout.receive()) == {"text": "done"}
            assert await process.wait() == 0
