"""A wait that is closed while it is being interrupted."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
import redis

from batonpass.coordinator.store import Topic
from batonpass.coordinator.urls import open_store
from tests.harness.waiting import wait_until


@pytest.mark.parametrize("turns", range(12))
async def test_who_interrupts_it_notices_nothing(redis_server: str, turns: int) -> None:
    """At whatever point of opening its connection and asking it is: the loop takes so many turns before the end. It
    raises nothing, and no connection stays open."""
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
