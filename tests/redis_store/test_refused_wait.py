"""Workers whose server refuses the wait, but not the claim: an administrator has taken away the right to BLPOP."""

from __future__ import annotations

import time

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.redis import watch
from batonpass.coordinator.store import Topic
from tests.harness.redis import RedisServer

pytestmark = pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
app = bp.App("refused-wait")
FOR = 1.5  # seconds


class Note(bp.Contract, name="refused-wait.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


@pytest.fixture
def url(own_redis: RedisServer) -> str:
    with own_redis.client() as server:
        server.execute_command("ACL SETUSER", "u", "on", ">p", "~*", "&*", "+@all", "-blpop")
    return own_redis.url.replace("://", "://u:p@")


async def test_an_idle_worker_does_not_spin(own_redis: RedisServer, url: str) -> None:
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator):
        await (await coordinator.submit(keep, Note(text="a"), returns=Note)).result(timeout=30)
        with own_redis.client() as server:
            server.config_resetstat()
            await anyio.sleep(FOR)
            refused = server.info("commandstats")["cmdstat_blpop"]["rejected_calls"]
            assert refused + server.info()["total_connections_received"] < 20
        began = time.monotonic()
        await (await coordinator.submit(keep, Note(text="b"), returns=Note)).result(timeout=30)
        assert time.monotonic() - began < 3  # what was claimed is not lost until its lease expires


async def test_what_was_claimed_begins_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker pauses only while it holds nothing: who is cancelled in a pause would lose what it has claimed."""
    began, first_ends, others_end = anyio.Event(), anyio.Event(), anyio.Event()

    async def pause(seconds: float) -> None:
        ends = others_end if began.is_set() else first_ends
        began.set()
        await ends.wait()

    monkeypatch.setattr(watch, "sleep", pause)
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator):
        with anyio.fail_after(30):
            await began.wait()
        job = await coordinator.submit(keep, Note(text="a"), returns=Note)
        first_ends.set()
        try:
            assert (await job.result(timeout=10)).text == "a"
        finally:
            others_end.set()


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_nor_does_who_only_waits(own_redis: RedisServer, url: str, side: str) -> None:
    with own_redis.client() as server:
        async with bp.connect(url, app=app) as coordinator:
            waits = coordinator.store.watch(Topic(queues=("a",)))
            began: int = server.info()["total_connections_received"]
            end = time.monotonic() + FOR
            while time.monotonic() < end:
                if side == "async":
                    await waits.await_(5)
                else:
                    await anyio.to_thread.run_sync(waits.wait, 5)
            await waits.aclose()
            assert server.info()["total_connections_received"] - began < 20
