"""A loop's client that is closed while a command connects."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
import redis
from redis.asyncio.connection import Connection

from batonpass.coordinator.redis.connections import AsyncConnection
from batonpass.coordinator.redis.loop_client import LoopClient
from batonpass.coordinator.redis.place import read_place
from tests.harness.waiting import wait_until


@pytest.mark.parametrize("cancelled", [False, True])
async def test_the_connection_does_not_stay_open(
    redis_server: str, cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connects, goes_on = asyncio.Event(), asyncio.Event()
    connect: Any = Connection._connect

    async def slow(connection: Connection) -> None:
        connects.set()
        await goes_on.wait()
        await connect(connection)
        if cancelled:
            asking.cancel()

    monkeypatch.setattr(Connection, "_connect", slow)
    with redis.Redis.from_url(redis_server) as server:
        before = len(server.client_list())
        client: Any = read_place(redis_server).aclient()
        shared: Any = AsyncConnection(client)
        ends: Any = None
        side = LoopClient(client, shared, ends)

        async def ask() -> None:
            async with side:
                await side.piped([("PING",)], began=0, patience=5)

        asking = asyncio.create_task(ask())
        await connects.wait()
        await side.aclose()
        goes_on.set()
        with suppress(asyncio.CancelledError):
            await asking
        wait_until(lambda: len(server.client_list()) <= before, what="no connection that was not there")
