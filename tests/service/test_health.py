"""`GET /health`: what a load balancer asks a service, without a token."""

from __future__ import annotations

import anyio

from ..harness.redis import RedisServer
from ..workers.serving import DEADLINE
from .service import caller, service


async def test_whether_the_store_can_be_reached_is_told_to_all(own_redis: RedisServer) -> None:
    with service(own_redis.url) as address:
        async with caller(address, "") as http:
            reply = await http.get("/health")
            assert (reply.status_code, reply.json()) == (200, {"ok": True})
            own_redis.kill()
            reply = await http.get("/health")
            assert (reply.status_code, reply.json()["error"]) == (503, "the store can't be reached")
            own_redis.start()
            with anyio.fail_after(DEADLINE):
                while (await http.get("/health")).status_code == 503:
                    await anyio.sleep(0.05)


async def test_nothing_else_is(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with caller(address, "") as http:
            for path in ("/health/", "/health/jobs"):
                assert (await http.get(path)).status_code == 401, path
            assert (await http.get("//health")).headers["location"] == "/ui/"  # that is a host without a path
            assert (await http.post("/health", json={})).status_code == 405
