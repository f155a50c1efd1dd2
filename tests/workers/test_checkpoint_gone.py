"""A job whose own checkpoint is gone, as after an eviction, or a flipped bit in its id: it does not begin anew in
silence."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
import redis

import batonpass as bp
from batonpass.coordinator.redis.place import prefix_of
from batonpass.coordinator.urls import file_of

from .serving import Ask, Reply, only, reached, serving


def _lose(url: str, checkpoint: str) -> None:
    if path := file_of(url):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("DELETE FROM checkpoint WHERE id = ?", (checkpoint,)).rowcount == 1
            db.commit()
        return
    namespace = url.rpartition("namespace=")[2]
    with redis.Redis.from_url(url.partition("?")[0]) as client:
        assert client.delete(f"{prefix_of(namespace, 0)}c:{checkpoint}") == 1


@pytest.mark.each_store
async def test_it_fails_and_says_so(store_url: str) -> None:
    ran: list[int] = []

    def run(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ran.append(ctx.attempt)
        ctx.step("first", lambda: "done")
        raise ValueError("not yet")

    async with serving(only(run, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        saved = (await reached(job, bp.JobState.FAILED)).checkpoint_id
        assert saved is not None
        _lose(store_url, saved)
        await coordinator.redrive(job.id)
        failed = await reached(job, bp.JobState.FAILED, reason="corrupted")
        assert failed.error is not None
        assert f"checkpoint {saved}, from which job {job.id} would go on, is gone from the store: fork" in failed.error
    assert ran == [1]
