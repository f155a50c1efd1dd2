"""A deadline reaches running code: async code is cancelled, a child process is killed, and nothing counts any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
import pytest

import batonpass as bp


class Task(bp.Contract, name="deadlines.task"):
    name: str = ""


async def test_running_code_is_stopped() -> None:
    app, told = bp.App("deadlines"), list[object]()

    @app.agent("sleep", accepts=Task, returns=Task, lease=0.3)
    async def sleep(task: Task, ctx: bp.Context) -> Task:
        told.append(ctx.deadline)
        try:
            await anyio.sleep(60)
        except BaseException:
            told.append("stopped")
            raise
        return task

    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        by = datetime.now(UTC) + timedelta(seconds=3)
        job = await coordinator.submit("sleep", Task(), deadline=by)
        with pytest.raises(bp.JobFailed, match=r"deadline") as failed:
            await job.result(timeout=20)
        with anyio.fail_after(20):
            while len(told) < 2:
                await anyio.sleep(0.01)
        assert failed.value.reason == "deadline"
        assert told == [by.replace(microsecond=by.microsecond // 1000 * 1000), "stopped"]
        assert (await job.info()).deadline == told[0]
