"""During a deploy: a worker with the older code gets a job that one with the newer code has begun."""

from __future__ import annotations

import logging

import anyio
import pytest

import batonpass as bp
from batonpass.testing import asked
from batonpass.workers import aside, claiming

from .serving import DEADLINE, Ask, Reply, kinds, only


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks again without the wait."""
    monkeypatch.setattr(aside, "_FIRST", 0.05)
    monkeypatch.setattr(claiming, "_ASIDE_LOOK", 0.02)


def release(version: int, ran: list[str], isolation: str) -> bp.App:
    """A release of the app, whose agent asks in the middle."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("before", ran.append, "before")
        answer = await ctx.ask("and?", answer=Ask)
        return Reply(text=f"{answer.text} at attempt {ctx.attempt}, version {version}")

    return only(run, state_version=version, isolation=isolation)


@pytest.mark.parametrize("isolation", ["task", "process"])
async def test_it_leaves_the_job_to_newer_ones(
    isolation: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It was a dead letter."""
    ran: list[str] = []
    older, newer = (release(version, ran, isolation) for version in (1, 2))
    async with bp.connect(store_url) as coordinator:
        async with newer.worker(coordinator):
            job = await coordinator.submit("a", Ask(), returns=Reply)
            await asked(job)
        with caplog.at_level(logging.ERROR, "batonpass.worker"):
            async with older.worker(coordinator):
                await job.answer(Ask(text="yes"))
                with anyio.fail_after(DEADLINE):
                    while (await kinds(coordinator, job)).count("job.released") < 2:
                        await anyio.sleep(0.01)
                async with newer.worker(coordinator):
                    assert (await job.result(timeout=DEADLINE)).text == "yes at attempt 1, version 2"
        assert "job.failed" not in await kinds(coordinator, job)
    if isolation == "task":
        assert "this worker leaves it to others for 0.05 s, it can't read it: checkpoint" in caplog.text
        assert "this program is older: update it" in caplog.text
        assert ran == ["before"]
