"""`batonpass doctor` tells of jobs that wait neither in a queue nor for a time, but for others."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp

from ..workers.serving import Ask, Reply, reached, serving
from .commandline import CommandLine


@pytest.mark.each_store
def test_jobs_that_wait_for_others(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    doctor = CommandLine(store_url, capsys, monkeypatch)
    app, over = bp.App("held"), anyio.Event()

    async def wait(ask: Ask) -> Reply:
        await over.wait()
        return Reply(text="")

    app.agent("one", accepts=Ask, returns=Reply, concurrency=1)(wait)
    app.agent("rated", accepts=Ask, returns=Reply, rate=bp.Rate(1, per=3600))(wait)

    async def told() -> list[str]:
        async with serving(app, store_url) as coordinator:
            for agent, reason in (("one", "limited"), ("rated", "rate_limited")):
                await reached(await coordinator.submit(agent, Ask(), thread=agent), bp.JobState.WORKING)
                await reached(await coordinator.submit(agent, Ask()), bp.JobState.SUBMITTED, reason=reason)
            await coordinator.submit("one", Ask(), thread="one", on_busy="queue")
            ran = await anyio.to_thread.run_sync(doctor, "doctor", "--json")
            over.set()
        return [f"{each['level']} {each['text']}" for each in ran.json["findings"] if each["about"] == "held back"]

    assert anyio.run(told) == [
        "ok of the 5 newest job(s): 1 limited at one; 1 rate_limited at rated; 1 thread_busy at one"
    ]
