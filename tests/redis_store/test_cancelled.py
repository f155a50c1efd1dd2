"""A task that is cancelled while it asks Redis ends as cancelled, at whatever moment that comes."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c

from ..workers.serving import DEADLINE

_TURNS = 40  # of the event loop: more than a command takes


async def cancel_after(turns: int, asking: Any) -> None:
    """Cancel a task after so many turns, unless it has ended by then."""
    task = asyncio.ensure_future(asking)
    for _ in range(turns):
        await asyncio.sleep(0)
    ended = not task.cancel()
    with anyio.fail_after(DEADLINE):
        await asyncio.wait([task])
    assert ended or task.cancelled(), f"after {turns} turns, the cancel was lost"


@pytest.mark.parametrize("option", ["", "max_connections=1"])
async def test_whatever_it_waits_for(redis_url: str, option: str) -> None:
    """Also while it sends a script that the server does not know yet."""
    async with bp.connect(f"{redis_url}{'&' if '?' in redis_url else '?'}{option}") as coordinator:
        for turns in range(_TURNS):
            for forget in (True, False):
                if forget:
                    with redis.Redis.from_url(redis_url.partition("?")[0]) as client:
                        client.script_flush()
                await cancel_after(turns, coordinator.store.acall(c.ListJobs()))
