"""What a worker's log says of jobs that go well."""

from __future__ import annotations

import logging

import anyio
import pytest

import batonpass as bp


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
