"""What a worker's log says of jobs that go well."""

from __future__ import annotations

import json
import logging

import anyio
import pytest

import batonpass as bp

from . import agents
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
