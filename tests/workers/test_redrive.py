"""A dead letter that is redriven goes on where it stopped: with its steps, another payload, or an edited state."""

from __future__ import annotations

from collections import Counter

import pytest

import batonpass as bp

from .serving import Ask, Reply, only, serving

FIRST = "first"


class Work:
    """An agent that fails after a recorded step for as long as it is told to."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.broken = True

    def agent(self, ask: Ask, ctx: bp.SyncContext) -> Reply:
        got = ctx.step(FIRST, self._first, ask.text)
        if self.broken:
            raise ValueError("not yet")
        return Reply(text=got)

    def _first(self, text: str) -> str:
        self.ran[text] += 1
        return f"made of {text}"


async def _fails(coordinator: bp.Coordinator, job: bp.Job[Reply]) -> None:
    with pytest.raises(bp.JobFailed):
        await job.result(timeout=30)
    assert [dead.id for dead in await coordinator.dead_letters()] == [job.id]


async def test_a_finished_step_is_not_run_again(store_url: str) -> None:
    work = Work()
    async with serving(only(work.agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(text="x"), returns=Reply)
        await _fails(coordinator, job)
        work.broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=30)).text == "made of x"
        assert await coordinator.dead_letters() == []
    assert work.ran == {"x": 1}


async def test_an_edited_state_counts(store_url: str) -> None:
    work = Work()
    async with serving(only(work.agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(text="x"), returns=Reply)
        await _fails(coordinator, job)
        work.broken = False
        await coordinator.redrive(job.id, changes={FIRST: "made by hand"})
        assert (await job.result(timeout=30)).text == "made by hand"
    assert work.ran == {"x": 1}


async def test_a_payload_that_was_wrong_is_replaced(store_url: str) -> None:
    def picky(ask: Ask) -> Reply:
        if ask.text == "bad":
            raise ValueError("bad")
        return Reply(text=ask.text)

    async with serving(only(picky, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(text="bad"), returns=Reply)
        await _fails(coordinator, job)
        with pytest.raises(bp.ContractViolation):
            await coordinator.redrive(job.id, payload={"text": 5})
        assert [dead.id for dead in await coordinator.dead_letters()] == [job.id]
        await coordinator.redrive(job.id, payload={"text": "good"})
        assert (await job.result(timeout=30)).text == "good"
        with pytest.raises(bp.WrongState, match="completed"):
            await coordinator.redrive(job.id, payload={"text": "again"})


async def test_no_state_to_edit(store_url: str) -> None:
    def hopeless(ask: Ask) -> Reply:
        raise ValueError("no way")

    async with serving(only(hopeless, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await _fails(coordinator, job)
        with pytest.raises(bp.BadSetup, match="no checkpoint yet"):
            await coordinator.redrive(job.id, changes={"a": 1})
        assert [dead.id for dead in await coordinator.dead_letters(agent="a", reason="attempts")] == [job.id]
        assert await coordinator.dead_letters(reason="poison") == []
