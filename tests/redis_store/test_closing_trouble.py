"""A store with a part that can't be closed: the others are closed, and then what went wrong is raised."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.coordinator.redis.connections import AsyncConnection, Connections
from batonpass.coordinator.redis.subscription import Subscription
from batonpass.coordinator.store import Topic
from tests.harness.waiting import wait_until


def broken(close: Any) -> Any:
    """Closes, and then says that it could not."""

    def closing(self: Any) -> Any:
        ended = close(self)
        if ended is None:
            raise OSError("it can't be closed")
        return raising(ended)

    async def raising(ended: Awaitable[None]) -> None:
        await ended
        raise OSError("it can't be closed")

    return closing


@pytest.mark.parametrize(
    ("part", "close"), [(Subscription, "aclose"), (Connections, "close"), (AsyncConnection, "aclose")]
)
async def test_the_rest_is_closed(
    part: type[Any], close: str, redis_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis.Redis.from_url(redis_server) as server:
        before = {client["id"] for client in server.client_list()}
        monkeypatch.setattr(part, close, broken(getattr(part, close)))
        connection = bp.connect(f"{redis_server}?namespace=trouble-{secrets.token_hex(3)}")
        coordinator = await connection.aopen()
        await coordinator.jobs()
        watch = coordinator.store.watch(Topic(subject="a job"))
        await watch.aopen()
        assert len(server.client_list()) > len(before)
        with pytest.raises(OSError, match="it can't be closed"):
            await connection.aclose()
        wait_until(
            lambda: {client["id"] for client in server.client_list()} <= before,
            what="no connection of ours",
            timeout=20,
        )
