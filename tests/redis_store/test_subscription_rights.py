"""Followers of all events, as the users of the shipped files: they may ask for one pattern only, letter by letter."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.store import Topic
from tests.harness.redis import RedisServer
from tests.redis_store.needed import FILES

LONG = 60.0
ALL = Topic()


@pytest.fixture(params=["bp:*", "bp:{mine:*"])
def url(request: pytest.FixtureRequest, own_redis: RedisServer) -> Iterator[str]:
    """Of a reader, whose namespace is there."""
    rights = (FILES / "reader.acl").read_text().split()[2:]
    with own_redis.client() as server:
        held = [right.replace("bp:*", request.param) for right in rights]
        server.execute_command("ACL SETUSER", "reader", *held, "on", ">p")
        for namespace in ("mine", "other"):
            bp.connect(own_redis.url, namespace=namespace).open()
        yield own_redis.url.replace("://", "://reader:p@")


def published(own_redis: RedisServer, namespace: str) -> None:
    with bp.connect(own_redis.url, namespace=namespace) as coordinator:
        coordinator.save(thread="t", agent="a", state={"x": 1})


async def test_a_task_is_woken_by_events_of_its_namespace_only(own_redis: RedisServer, url: str) -> None:
    async with bp.connect(url, namespace="mine") as reader:
        store: Any = reader.store
        watch = store.watch(ALL)
        waited = 0
        with anyio.fail_after(LONG), own_redis.client() as server:
            while not server.pubsub_numpat():  # one is refused, if the other is needed
                await watch.await_(0.5)
            await watch.await_(0.5)
            waiting = asyncio.create_task(watch.await_(LONG))
            await asyncio.to_thread(published, own_redis, "other")
            waited = int(waiting.done())
            await asyncio.to_thread(published, own_redis, "mine")
            await waiting
            refusals = [entry["count"] for entry in server.acl_log() if entry["reason"] == "channel"]
            await watch.aclose()
            while server.pubsub_numpat():
                await anyio.sleep(0.01)
        assert not waited
        assert sum(map(int, refusals)) <= 1


def test_a_thread_is_woken_by_events_of_its_namespace_only(own_redis: RedisServer, url: str) -> None:
    with bp.connect(url, namespace="mine") as reader, own_redis.client() as server:
        store: Any = reader.store
        watch = store.watch(ALL)
        ends = time.monotonic() + LONG
        while not server.pubsub_numpat():
            watch.wait(0.5)
            assert time.monotonic() < ends
        watch.wait(0.5)
        waiting = threading.Thread(target=watch.wait, args=(LONG,))
        waiting.start()
        published(own_redis, "other")
        assert waiting.is_alive()
        published(own_redis, "mine")
        waiting.join(LONG / 2)
        assert not waiting.is_alive()
        watch.close()
        second = store.watch(ALL)
        second.wait(0.5)  # what was found is kept
        assert server.pubsub_numpat() == 1
        second.close()


async def test_rights_that_are_given_later(own_redis: RedisServer, url: str) -> None:
    """Both patterns are tried in turn: an administrator may move a user from one to the other."""
    async with bp.connect(url, namespace="mine") as reader:
        store: Any = reader.store
        watch = store.watch(ALL)
        with own_redis.client() as server, anyio.fail_after(LONG):
            for pattern in ("bp:*", "bp:{mine:*", "bp:*"):
                server.execute_command("ACL SETUSER", "reader", "resetchannels", f"&{pattern}")
                server.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                while not server.pubsub_numpat():
                    await watch.await_(0.3)
        await watch.aclose()
