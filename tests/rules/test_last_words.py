"""Rule 4: whatever an agent says when it fails, its job is parked and its worker lives."""

from __future__ import annotations

import os

import pytest

import batonpass as bp


class Task(bp.Contract, name="lastwords.task"):
    text: str


app = bp.App("lastwords")


WORDS = {
    "lines": "a\nb",
    "nul": "\0",
    "long": "x" * 1_000_000,
    "emoji": "💥",
    "undecodable": os.fsdecode(b"\xff.txt"),
}


@app.agent("crier", accepts=Task, returns=Task, retries=1)
async def crier(task: Task) -> Task:
    raise ValueError(WORDS[task.text])


@pytest.mark.parametrize("words", WORDS)
async def test_an_agents_last_words(store_url: str, words: str) -> None:
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("crier", Task(text=words))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        assert (await job.info()).reason == "attempts"
        assert (await coordinator.submit("crier", Task(text="nul"))).id != job.id
