"""What asking for results takes of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redis

import batonpass as bp
from tests.apps.function_app import Topic
from tests.harness.redis import some_server


async def test_the_result_of_a_job_that_has_ended_takes_no_connection_of_its_own(tmp_path: Path) -> None:
    app = bp.App("results")

    @app.agent("echo", accepts=Topic, returns=Topic)
    async def echo(topic: Topic) -> Topic:
        return topic

    # A server of its own: what an earlier test has left may still connect to the session's.
    with some_server(tmp_path) as url, redis.Redis.from_url(url) as server:

        def connections() -> int:
            info: Any = server.info("stats")
            return int(info["total_connections_received"])

        async with bp.connect(url, app=app) as coordinator, app.worker(coordinator):
            job = await coordinator.submit("echo", Topic(text="rain"), returns=Topic)
            assert await job.result(timeout=20) == Topic(text="rain")
        async with bp.connect(url, app=app) as another:  # with nothing open yet to be woken by
            await another.jobs()
            ended = another.job(job.id, returns=Topic)
            before = connections()
            for _ in range(5):
                assert await ended.result(timeout=20) == Topic(text="rain")
                assert [each async for each in ended.stream()] == []
            assert connections() == before
