"""What asking for results takes of the server."""

from __future__ import annotations

from typing import Any

import redis

import batonpass as bp
from tests.apps.function_app import Topic


async def test_the_result_of_a_job_that_has_ended_takes_no_connection_of_its_own(redis_server: str) -> None:
    app = bp.App("results")

    @app.agent("echo", accepts=Topic, returns=Topic)
    async def echo(topic: Topic) -> Topic:
        return topic

    with redis.Redis.from_url(redis_server) as server:

        def connections() -> int:
            info: Any = server.info("stats")
            return int(info["total_connections_received"])

        async with bp.connect(f"{redis_server}?namespace=results", app=app) as coordinator:
            async with app.worker(coordinator):
                job = await coordinator.submit("echo", Topic(text="rain"), returns=Topic)
                assert await job.result(timeout=20) == Topic(text="rain")
            before = connections()
            for _ in range(5):
                assert await job.result(timeout=20) == Topic(text="rain")
                assert [each async for each in job.stream()] == []
            assert connections() - before < 5  # what an earlier test has left may still open one
