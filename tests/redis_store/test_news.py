"""The subscription that the tasks of an event loop share."""

from __future__ import annotations

from typing import Any

import anyio
import redis

import batonpass as bp
from batonpass.coordinator.store import Topic

LONG = 60.0


async def test_its_loss_wakes_all_and_it_is_made_again(redis_server: str, redis_url: str) -> None:
    async with bp.connect(redis_url) as coordinator:
        store: Any = coordinator.store
        watches = [store.watch(Topic(subject=f"job{number}")) for number in range(3)]
        with redis.Redis.from_url(redis_server) as server, anyio.fail_after(LONG / 2):
            for watch in watches:
                await watch.aopen()
            for _ in range(2):
                async with anyio.create_task_group() as tasks:
                    for watch in watches:
                        tasks.start_soon(watch.await_, LONG)
                    await anyio.wait_all_tasks_blocked()
                    server.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                for watch in watches:
                    await watch.aopen()
            for number, watch in enumerate(watches):
                while not server.publish(f"{store.prefix}live:job{number}", ""):
                    await anyio.sleep(0.01)
                await watch.await_(LONG)
                await watch.aclose()
            while server.pubsub_channels(f"{store.prefix}*"):
                await anyio.sleep(0.01)
