"""Cancelling a job reaches the code that runs it: async code where it awaits, sync code at its next call of ctx."""

from __future__ import annotations

import threading

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator import commands as c

from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving

LEASE = 0.8  # four heartbeats fall into this time, and bring the cancel


async def cancelled(coordinator: bp.Coordinator, job: bp.Job[Reply]) -> None:
    assert await job.cancel()
    with pytest.raises(bp.JobCanceled):
        await job.result(timeout=30)
    assert not await job.cancel()
    assert (await kinds(coordinator, job))[-1] == "job.canceled"


async def test_async_code_is_cancelled(store_url: str) -> None:
    began, ended = anyio.Event(), anyio.Event()

    async def sleeper(ask: Ask) -> Reply:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with serving(only(sleeper), store_url, lease=LEASE) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with anyio.fail_after(DEADLINE):
            await began.wait()
            await cancelled(coordinator, job)
            await ended.wait()


@pytest.mark.parametrize("call", ["step", "check", "ask"])
async def test_sync_code_is_stopped_at_its_next_call(
    call: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "batonpass.worker")
    began, go_on = threading.Event(), threading.Event()
    seen: list[type[BaseException]] = []
    ran: list[str] = []

    def worker(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.step("first", str, "first")
        began.set()
        go_on.wait(DEADLINE)
        try:
            if call == "step":
                ctx.step("next", ran.append, "next")
            elif call == "check":
                ctx.check()
            else:
                ctx.ask("?")
        except BaseException as error:
            seen.append(type(error))
            raise
        return Reply(text="went on")

    try:
        async with serving(only(worker), store_url, lease=LEASE) as coordinator:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            with anyio.fail_after(DEADLINE):
                while not began.is_set():
                    await anyio.sleep(0.01)
                await cancelled(coordinator, job)
                before = await kinds(coordinator, job)
                while "hop 0 a: canceled" not in caplog.text:  # brought by a heartbeat: `check` does not ask the store
                    await anyio.sleep(0.01)
                go_on.set()
                while not seen:
                    await anyio.sleep(0.01)
            assert seen == [bp.Canceled]
            assert ran == []
            assert await kinds(coordinator, job) == before
    finally:
        go_on.set()


@pytest.mark.parametrize("how", ["async", "sync"])
async def test_code_whose_job_is_another_ones_is_stopped(how: str) -> None:
    """As after a takeover: async code hears of it where it awaits, sync code by `ctx.check`. Neither needs to write."""
    began, ended = threading.Event(), threading.Event()

    async def sleeper(ask: Ask, ctx: bp.Context) -> Reply:
        if began.is_set():
            return Reply(text="again")
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    def checker(ask: Ask, ctx: bp.SyncContext) -> Reply:
        if began.is_set():
            return Reply(text="again")
        began.set()
        try:
            while not ended.wait(0.01):
                ctx.check()
        except bp.Fenced:
            ended.set()
            raise
        raise AssertionError

    app = only(sleeper if how == "async" else checker)
    try:
        async with serving(app, lease=LEASE) as coordinator:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            lease = (await reached(job, bp.JobState.WORKING)).lease
            assert lease is not None
            with anyio.fail_after(DEADLINE):
                while not began.is_set():
                    await anyio.sleep(0.01)
                await coordinator.store.acall(c.Release(c.Fence(job.id, lease.token, lease.id)))
                assert (await job.result()).text == "again"
                while not ended.is_set():
                    await anyio.sleep(0.01)
    finally:
        ended.set()


async def test_the_slot_of_a_cancelled_job_is_free_again() -> None:
    go_on = threading.Event()

    def blocks(ask: Ask) -> Reply:
        if ask.number == 0:
            go_on.wait(DEADLINE)
        return Reply(text="done")

    try:
        async with serving(only(blocks), concurrency=1, lease=LEASE) as coordinator:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await reached(job, bp.JobState.WORKING)
            await cancelled(coordinator, job)
            other = await coordinator.submit("a", Ask(number=1), returns=Reply)
            assert (await other.result(timeout=DEADLINE)).text == "done"
            go_on.set()
    finally:
        go_on.set()


async def test_a_job_that_nobody_runs_is_cancelled(store_url: str) -> None:
    app = only(lambda ask: Reply(text="never"))
    async with bp.connect(store_url, app=app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await cancelled(coordinator, job)
        async with app.worker(coordinator):
            after = await coordinator.submit("a", Ask(), returns=Reply)
            assert (await after.result(timeout=DEADLINE)).text == "never"
        assert await kinds(coordinator, job) == ["job.submitted", "job.canceled"]
