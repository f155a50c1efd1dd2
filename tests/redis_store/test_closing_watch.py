"""A wait that is closed while it is being interrupted."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from batonpass.coordinator.store import Topic
from batonpass.coordinator.urls import open_store


@pytest.mark.parametrize("turns", range(12))
async def test_who_interrupts_it_notices_nothing(redis_server: str, turns: int) -> None:
    """At whatever point of opening its connection and asking it is: the loop takes so many turns before the end."""
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
