"""The floor of a worker: a loop that blocks in XREADGROUP. A process of its own."""

from __future__ import annotations

import sys
import time
from typing import Any

import redis.asyncio
from anyio import run

from benchmarks.agents import Topic, say


async def read(url: str, stream: str) -> None:
    """Say when each entry arrived, then acknowledge it."""
    async with redis.asyncio.Redis.from_url(url, socket_timeout=None) as client:
        await client.xgroup_create(stream, "readers", id="0", mkstream=True)
        say("ready")
        while True:
            found: Any = await client.xreadgroup("readers", "reader", {stream: ">"}, count=1, block=3000)
            for _, entries in found:
                for position, fields in entries:
                    Topic.model_validate_json(fields[b"data"])
                    say(str(time.time_ns()))
                    await client.xack(stream, "readers", position)


if __name__ == "__main__":
    run(read, sys.argv[1], sys.argv[2])
