"""An idle worker has its next claim waiting at the Redis server already, so that the next job starts sooner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import redis

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.workers import claiming

from .serving import DEADLINE, Ask, Reply, only, reached, serving


class Line:
    """The connection on which a worker waits for deliveries, as the server sees it."""

    def __init__(self, url: str) -> None:
        self._server: redis.Redis = redis.Redis.from_url(url.partition("?")[0])
        self._others = {client["id"] for client in self._blocked()}

    def _blocked(self) -> list[dict[str, Any]]:
        clients: Any = self._server.client_list()
        return [client for client in clients if client["cmd"] == "blpop" and "b" in client["flags"]]

    async def waits(self, *, with_claim: bool) -> str:
        """Wait until the worker waits, with a claim behind the wait or without one; the connection's id."""
        with anyio.fail_after(DEADLINE):
            while True:
                mine = [client for client in self._blocked() if client["id"] not in self._others]
                if len(mine) == 1 and (int(mine[0]["qbuf"]) > 0) == with_claim:
                    return str(mine[0]["id"])
                await anyio.sleep(0.005)

    def ready(self, connection: str) -> int:
        """How many bytes are queued behind a connection's wait."""
        [client] = [client for client in self._blocked() if client["id"] == connection]
        return int(client["qbuf"])

    def cut(self, connection: str) -> None:
        """End a connection, as a server or a firewall does."""
        self._server.client_kill_filter(_id=connection)

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def line(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """The worker looks by itself only every 100 s."""
    monkeypatch.setattr(claiming, "_LOOK", 100.0)
    made = Line(redis_url)
    yield made
    made.close()


async def test_the_claim_lies_ready_again_when_the_last_agent_has_ended(line: Line, redis_url: str) -> None:
    """While an agent runs, nothing is claimed from within a wait: the agent might block the loop, and the new job's
    lease could not be renewed."""
    go_on = anyio.Event()

    async def agent(ask: Ask) -> Reply:
        await go_on.wait()
        return Reply(text=ask.text)

    async with serving(only(agent), redis_url) as coordinator:
        await line.waits(with_claim=True)
        job = await coordinator.submit("a", Ask(text="done"), returns=Reply)
        await reached(job, bp.JobState.WORKING)
        await line.waits(with_claim=False)
        go_on.set()
        assert (await job.result(timeout=DEADLINE)).text == "done"
        await line.waits(with_claim=True)


async def test_the_claim_that_lies_ready_is_for_one(line: Line, redis_url: str) -> None:
    """The worker looks for more when that one has started."""
    sizes = []
    for slots in (1, 50):
        async with serving(only(lambda ask: Reply(text=ask.text)), redis_url, concurrency=slots):
            sizes.append(line.ready(await line.waits(with_claim=True)))
    assert abs(sizes[0] - sizes[1]) < len(mint("l"))


async def test_the_wait_goes_on_after_its_connection_was_cut(line: Line, redis_url: str) -> None:
    async def agent(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    async with serving(only(agent), redis_url) as coordinator:
        first = await line.waits(with_claim=True)
        line.cut(first)
        with anyio.fail_after(DEADLINE):
            while await line.waits(with_claim=True) == first:
                await anyio.sleep(0.005)
        job = await coordinator.submit("a", Ask(text="done"), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "done"


async def test_an_idle_worker_stops_at_once(line: Line, redis_url: str) -> None:
    """The task that is kept ready for the next delivery ends, too."""
    app = only(lambda ask: Reply(text=ask.text))
    with anyio.fail_after(DEADLINE):
        async with bp.connect(redis_url, app=app) as coordinator, app.worker(coordinator) as worker:
            await line.waits(with_claim=True)
            worker.stop()
