"""The subscription that the tasks of an event loop share."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import redis

import batonpass as bp
from batonpass.coordinator.store import Topic
from tests.harness.redis import RedisServer
from tests.workers.serving import Ask, Reply, only, reached, serving

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


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
async def test_who_may_not_subscribe_does_not_try_without_a_pause(own_redis: RedisServer) -> None:
    """An administrator has taken away the right to. The store looks each second, and connects a few times a second."""
    with own_redis.client() as server:
        server.execute_command("ACL SETUSER", "u", "on", ">p", "~*", "&*", "+@all", "-subscribe", "-psubscribe")
        async with bp.connect(own_redis.url.replace("://", "://u:p@")) as coordinator:
            store: Any = coordinator.store
            watches = [store.watch(Topic(subject=f"job{number}")) for number in range(20)]
            before: int = server.info()["total_connections_received"]

            async def wait(watch: Any) -> None:
                while True:
                    await watch.await_(LONG)

            with anyio.move_on_after(1.5):
                async with anyio.create_task_group() as tasks:
                    for watch in watches:
                        tasks.start_soon(wait, watch)
            assert server.info()["total_connections_received"] - before < 20


async def test_who_waits_while_it_is_closed_is_not_cancelled(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The subscription was just being opened, on a slow server. The wait continues with another one."""

    async def reply(ask: Ask) -> Reply:
        return Reply(text="done")

    app = only(reply)
    async with serving(app, redis_url) as other, bp.connect(redis_url, app=app) as coordinator:
        job = await other.submit("a", Ask(), delay=1)
        store: Any = coordinator.store
        subscription, opening = store._subscriptions.here(), asyncio.Event()

        async def silent() -> Any:
            opening.set()
            await asyncio.sleep(LONG)

        with monkeypatch.context() as patch, anyio.fail_after(LONG / 2):
            patch.setattr(subscription, "_find", silent)
            waiting = asyncio.create_task(coordinator.job(job.id).result(timeout=LONG))
            await opening.wait()
            await store._subscriptions.aclose()  # store.aclose() closes nothing of a connection that is open
        await reached(job, bp.JobState.COMPLETED)
        assert dict(await waiting) == {"text": "done"}
