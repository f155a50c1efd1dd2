"""A wait that is closed while it is being interrupted, or cancelled while it begins."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import redis
from redis.asyncio.connection import ConnectionPool

import batonpass as bp
from batonpass.coordinator.store import Topic
from batonpass.coordinator.urls import open_store
from tests.harness.waiting import wait_until


@pytest.mark.parametrize("turns", range(12))
async def test_who_interrupts_it_notices_nothing(redis_server: str, turns: int) -> None:
    """Wherever it is in opening its connection and asking (the loop takes this many turns before the close), it raises
    nothing, and no connection stays open."""
    with redis.Redis.from_url(redis_server) as server:
        before = len(server.client_list())
        store = open_store(f"{redis_server}?namespace=closing")
        watch = store.watch(Topic(queues=("a",)))
        await watch.aopen()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch.ainterrupt)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                await watch.aclose()
        await store.aclose()
        wait_until(lambda: len(server.client_list()) <= before, what="no connection that was not there")


@pytest.mark.parametrize("scoped", [False, True])
async def test_a_cancel_that_the_client_loses_counts(
    redis_server: str, scoped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As redis-py does on Python 3.11 if the cancel comes just when it has connected."""
    connect: Any = ConnectionPool.get_connection

    async def losing(pool: ConnectionPool) -> Any:
        scope.cancel() if scoped else task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return await connect(pool)

    async def follow() -> None:
        async with bp.connect(f"{redis_server}?namespace=lost-{secrets.token_hex(3)}") as coordinator:
            with scope:
                async for _ in coordinator.events(follow=True):
                    pass

    monkeypatch.setattr(ConnectionPool, "get_connection", losing)
    scope = anyio.CancelScope()
    task = asyncio.create_task(follow())
    await asyncio.wait([task], timeout=10)
    assert task.done()
    assert task.cancelled() == (not scoped)
