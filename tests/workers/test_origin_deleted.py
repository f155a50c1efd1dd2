"""A job that was forked from another thread's checkpoint does not need that thread: it may be deleted or damaged."""

from __future__ import annotations

import random
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.book import Book
from batonpass.coordinator.redis import dialogue, segments
from tests.harness.stores import MemoryHarness
from tests.harness.texts import words

from .serving import DEADLINE, Ask, Reply, kinds, only


async def test_a_job_goes_on_without_the_origin(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does when that was deleted just before the claim: a large state is read in a second step."""

    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=f"attempt {ctx.attempt}")

    app, lacking, deleted = only(run), segments.lacking, list[str]()
    with bp.connect(redis_url) as client:
        # More than a script hands over at once.
        origin = client.save(thread="other", agent="a", state={"text": words(random.Random(1), 300_000)})

        def delete_then(answer: Any) -> list[str]:
            keys = lacking(answer)
            if keys and isinstance(answer, list):  # a claim's
                client.expire(origin.id)
                deleted.extend(keys)
            return keys

        monkeypatch.setattr(dialogue, "lacking", delete_then)
        async with bp.connect(redis_url, app=app) as coordinator, app.worker(coordinator):
            job = await coordinator.hand_off(origin.id, to="a", payload=Ask())
            result = await job.result(timeout=DEADLINE)
            assert result == Reply(text="attempt 1")
            assert "job.released" not in await kinds(coordinator, job)
    assert deleted


async def test_a_job_goes_on_without_an_origin_that_is_damaged() -> None:
    def run(ask: Ask, ctx: bp.SyncContext) -> Reply:
        return Reply(text=ctx.step("first", lambda: ask.text))

    app, harness = only(run), MemoryHarness()
    store = harness.store()
    coordinator = bp.Coordinator(store, Book(app))
    origin = await coordinator.save(thread="other", agent="a", state={"text": "kept"})
    await app.declare(coordinator)
    job = await coordinator.hand_off(origin.id, to="a", payload=Ask(text="given"))
    with harness.tampered(origin.id, "header", bytes.upper):
        async with app.worker(coordinator):
            assert await job.result(timeout=DEADLINE) == Reply(text="given")
    saved = await coordinator.latest(thread=job.id)
    assert saved is not None
    assert (saved.parent_id, (await job.info()).attempt) == (origin.id, 1)
