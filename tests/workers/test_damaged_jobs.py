"""Jobs that somebody wrote into the store by hand, or damaged there: each ends alone, and its worker goes on."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.coordinator.book import target
from tests.harness.bench import new_job

from .serving import DEADLINE, Ask, Reply, only, reached, serving


def _app() -> bp.App:
    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=ask.text)

    return only(run)


@pytest.mark.each_store
async def test_one_that_is_not_for_the_agent_of_its_queue(store_url: str) -> None:
    """Every worker that claimed it exited."""
    async with serving(_app(), store_url, concurrency=3) as coordinator:
        queue = target("a", contract_ref(Ask), b"").queue
        command = new_job("nobody")
        command.target.queue = queue
        bad = (await coordinator.store.acall(command)).id
        beside = [await coordinator.submit("a", Ask(text=str(n))) for n in range(5)]
        for n, job in enumerate(beside):
            assert await job.result(timeout=DEADLINE) == Reply(text=str(n))
        failed = await reached(coordinator.job(bad), bp.JobState.FAILED, reason="corrupted")
        assert failed.error is not None
        assert f"job {bad} is for agent 'nobody', but waits in the queue of another one" in failed.error
