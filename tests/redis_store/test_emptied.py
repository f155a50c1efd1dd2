"""A store that is emptied under a live worker: a cache's restart, a failover that lost the first writes."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.declaring import recalling
from batonpass.coordinator.commands import Declared
from batonpass.coordinator.redis.place import prefix_of
from batonpass.coordinator.urls import open_store
from batonpass.workers import upkeep
from tests.harness.redis import RedisServer
from tests.redis_store.needed import FILES
from tests.workers.serving import DEADLINE, Ask, Reply, only, serving


def reply(ask: Ask, ctx: bp.SyncContext) -> Reply:
    return Reply(text=ask.text)


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
async def test_a_live_worker_is_found_again(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upkeep, "_DECLARED", 0.1)
    async with serving(only(reply), own_redis.url) as coordinator:
        with own_redis.client() as server:
            server.flushall()
        with anyio.fail_after(DEADLINE):
            while "a" not in await coordinator.store.acall(Declared()):  # what others ask before they submit
                await anyio.sleep(0.01)
        job = await coordinator.submit("a", Ask(text="rain"), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "rain"
    assert "the store had lost its record of a: registered again" in caplog.messages


async def found(url: str) -> None:
    """Open a store as the command line does, which makes no namespace, once there is one."""
    store = open_store(url, begins=False)
    with anyio.fail_after(DEADLINE):
        while True:
            try:
                await store.aopen()
            except bp.NotFound:
                await anyio.sleep(0.01)
            else:
                return await store.aclose()


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
@pytest.mark.parametrize("role", ["default", "batonpass-worker"])
async def test_a_live_worker_makes_its_namespace_again(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """Until some program connected anew, the command line said that there is none. It is another one than before, so
    that whoever saw that can tell."""
    monkeypatch.setattr(upkeep, "_DECLARED", 0.1)
    url = own_redis.url
    with own_redis.client() as server:
        if role != "default":
            rights = (FILES / "worker.acl").read_text().split()[2:]
            server.execute_command("ACL SETUSER", role, *rights, "on", ">pw")
            url = url.replace("://", f"://{role}:pw@")
        async with serving(only(reply), url):
            before = server.get(f"{prefix_of('default', 0)}epoch")
            server.flushall()
            await found(own_redis.url)
            assert server.get(f"{prefix_of('default', 0)}epoch") not in (None, before)


async def test_what_others_have_recorded_since_stays() -> None:
    """As by the newer worker of a rolling deploy, which knows the agent's next version."""
    app = only(reply)

    @app.agent("b", accepts=Ask, returns=Reply)
    def _(ask: Ask, ctx: bp.SyncContext) -> Reply:
        return reply(ask, ctx)

    async with bp.connect("memory://") as coordinator:
        store = coordinator.store
        await coordinator.declare(only(reply, concurrency=7))
        before = await store.acall(Declared())
        assert await adrive(store, recalling(app)) == ["b"]
        after = await store.acall(Declared())
        assert await adrive(store, recalling(app)) == []
    assert after["a"] == before["a"]
