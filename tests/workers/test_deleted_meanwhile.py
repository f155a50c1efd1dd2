"""A job that is canceled and deleted while it runs is told in one line, and not as an error of the worker."""

from __future__ import annotations

import logging

import anyio
import pytest

import batonpass as bp
from batonpass.testing import serving

from .serving import DEADLINE, Ask, Reply, only


async def logged(raised: Exception | None, store_url: str, caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """What is logged of a job whose agent has it deleted, and then raises that, or writes."""
    caplog.set_level(logging.WARNING, "batonpass.worker")

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await coordinator.job(ctx.job_id).cancel()
        await coordinator.delete_job(ctx.job_id)
        if raised is not None:
            raise raised
        await ctx.step("on", str, "x")
        return Reply(text="")

    async with serving(only(agent), store_url) as coordinator:
        await coordinator.submit("a", Ask())
        with anyio.fail_after(DEADLINE):
            while not any("it was deleted" in record.getMessage() for record in caplog.records):
                await anyio.sleep(0.01)
    return [(record.levelname, record.getMessage().partition(" a: ")[2]) for record in caplog.records]


async def test_one_that_writes_on(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    assert await logged(None, store_url, caplog) == [("WARNING", "it was deleted while it ran")]


async def test_one_that_fails_then(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    [(level, error), last] = await logged(ValueError("its own"), store_url, caplog)
    assert (level, error.partition(" (")[0]) == ("ERROR", "ValueError: its own")
    assert last == ("WARNING", "it was deleted while it ran")


async def test_what_an_agent_does_not_find_is_its_own_error(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Only the job itself counts as deleted."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await coordinator.job("j" + "0" * 23).info()
        return Reply(text="")

    async with serving(only(agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="there is no job j000"):
            await job.result(timeout=30)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_one_whose_worker_stops_then(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "batonpass.worker")
    deleted = anyio.Event()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await coordinator.job(ctx.job_id).cancel()
        await coordinator.delete_job(ctx.job_id)
        deleted.set()
        await anyio.sleep_forever()
        return Reply(text="")

    async with serving(only(agent, lease=60), store_url) as coordinator:
        await coordinator.submit("a", Ask())
        with anyio.fail_after(DEADLINE):
            await deleted.wait()
    [told] = [record.getMessage() for record in caplog.records]
    assert told.endswith("it was deleted while it ran")
