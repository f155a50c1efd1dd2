"""`GET /health`: what a load balancer asks a service, without a token."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import anyio
from redis.exceptions import AuthenticationError, NoPermissionError

from batonpass.coordinator.redis.failures import failure
from batonpass.coordinator.sqlite.moved import mark
from batonpass.service.refusing import problem_of

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
            assert reply.json()["type"] == "Unreachable"
            own_redis.start()
            with anyio.fail_after(DEADLINE):
                while (await http.get("/health")).status_code == 503:
                    await anyio.sleep(0.05)


async def test_a_namespace_that_was_moved_makes_no_request_wrong(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with caller(address) as http:
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as db:
                mark(db, "default", "moved 0 redis://elsewhere")
                db.commit()
            health = await http.get("/health")  # what was there can be read, but no request to write succeeds
            assert (health.status_code, health.json()["error"].partition(":")[0]) == (
                503,
                "the namespace was moved, or is being moved",
            )
            assert "elsewhere" not in health.text  # anybody may ask
            submission = {"agent": "plain", "payload": {"text": "x"}}
            for path, body in (("/jobs", submission), ("/jobs/jaa1m8gt7d7h28smnxgb7bry/cancel", {})):
                reply = await http.post(path, json=body)
                assert (reply.status_code, "moved to redis://elsewhere" in reply.text) == (503, True), reply.text


def test_a_server_that_does_not_allow_it_makes_no_request_wrong() -> None:
    for error in (NoPermissionError("no permissions"), AuthenticationError("invalid username-password pair")):
        assert problem_of(failure(error, "redis://server")).status == 500


async def test_nothing_else_is(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with caller(address, "") as http:
            for path in ("/health/", "/health/jobs"):
                assert (await http.get(path)).status_code == 401, path
            assert (await http.get("//health")).headers["location"] == "/ui/"  # that is a host without a path
            assert (await http.post("/health", json={})).status_code == 405
