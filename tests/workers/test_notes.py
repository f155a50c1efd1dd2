"""What a worker's log says of jobs that go well."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers.session import LeaseSession

from . import agents, apart
from .families import serving_apart
from .processes import DEADLINE, Desk


class Word(bp.Contract, name="notes.word"):
    text: str


app = bp.App("notes")
together = anyio.Event()


@app.agent("both", accepts=Word, returns=Word)
async def both(word: Word) -> Word:
    if word.text == "last":
        together.set()
    await together.wait()
    return word


async def test_jobs_that_end_at_the_same_moment_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "batonpass.worker"):
        async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
            jobs = [await coordinator.submit("both", Word(text=text)) for text in ("first", "second", "last")]
            for job in jobs:
                await job.result(timeout=10)
    lines = [record.getMessage() for record in caplog.records if "completed" in record.getMessage()]
    assert [line.count("hop 0 both: completed") for line in lines] == [3]
    assert all(job.id in lines[0] for job in jobs)


async def test_a_start_is_not_told_after_the_end_of_its_attempt(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of the start is due after the agent has failed, while the store is slow to take the failure."""
    awrite = LeaseSession.awrite
    failing = bp.App("failing")

    def due() -> bool:
        assert worker._runner is not None
        return worker._runner.notes._saying

    async def slowly(session: LeaseSession, command: Any) -> None:
        while due():
            await anyio.sleep(0.001)
        await awrite(session, command)

    @failing.agent("fails", accepts=Word, returns=Word, retries=1)
    async def _(word: Word) -> Word:
        while not due():
            await anyio.sleep(0.001)
        raise ValueError("broken")

    monkeypatch.setattr(LeaseSession, "awrite", slowly)
    with caplog.at_level(logging.INFO, "batonpass.worker"):
        async with bp.connect("memory://", app=failing) as coordinator, failing.worker(coordinator) as worker:
            job = await coordinator.submit("fails", Word(text=""))
            with pytest.raises(bp.JobFailed):
                await job.result(timeout=10)
    lines = [message for message in caplog.messages if job.id in message]
    assert "ValueError: broken" in lines[-1]


@pytest.mark.timeout(240)
def test_the_start_in_another_process_is_told_before_that_tells_its_end(desk: Desk) -> None:
    """However short it is: what the processes say can't be put in order later."""
    worker = serving_apart(desk, "pid")
    with bp.connect(desk.url, app=apart.app) as coordinator:
        job = coordinator.submit("pid", agents.Task(text="a", seconds=1e300))
        worker.wait_for("OverflowError")
        job.cancel()
    lines = [line for line in worker.said().splitlines() if f"job {job.id}" in line]
    assert "started (attempt 1" in lines[0]
    assert "OverflowError" in lines[1]


@pytest.mark.timeout(240)
def test_lines_in_json_have_its_parts_as_fields(desk: Desk) -> None:
    worker = desk.serving("steps", "--json")
    with bp.connect(desk.url, app=agents.app) as coordinator:
        job = coordinator.submit("steps", agents.Task(text="a"), returns=agents.Done)
        worker.wait_for("started")
        desk.open_gate("two")
        job.result(timeout=DEADLINE)
    worker.wait_for("completed")
    lines = [json.loads(line) for line in worker.said().splitlines()]
    parts = {"job": job.id, "hop": 0, "agent": "steps", "attempt": 1}
    [started] = [line for line in lines if "started" in line["message"]]
    [ended] = [line for line in lines if "completed" in line["message"]]
    assert parts.items() <= started.items()
    assert (parts | {"outcome": "completed"}).items() <= ended.items()
    assert all("job" not in line for line in lines if line not in (started, ended))
