"""A user who lacks a command in the middle of a script: nothing of it is carried out, since a server takes nothing
back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis import rights, scripts
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.redis.wire import arguments
from tests.harness.bench import Bench, new_job
from tests.harness.redis import RedisServer, binaries, version_of
from tests.harness.stores import RedisHarness
from tests.redis_store.needed import FILES
from tests.rules.scenes import SCENES

SAMPLE = (
    *("submit", "claim", "save", "put", "hand_off", "complete", "fail", "suspend", "spawn", "redrive", "cancel"),
    *("reap", "write items"),
)
TELLING = [binary for binary in binaries() if version_of(binary) >= (7,)]
WORKER = (FILES / "worker.acl").read_text().split()[3:]


@pytest.fixture(params=TELLING, ids=lambda binary: ".".join(map(str, version_of(binary))))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path_factory.mktemp("rights"), binary=request.param)
    made.start()
    yield made
    made.close()


def with_user(server: RedisServer, *rules: str) -> str:
    """The URL of a user with a worker's rights, but for these rules."""
    with server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "w", "reset", "on", ">secret", *WORKER, *rules)
    return server.url.replace("://", "://w:secret@")


def left_by(server: RedisServer, scene: str, lacking: str) -> bool:
    """Whether the command of a scene was refused to a user who lacks this one, and left nothing."""
    harness = RedisHarness(server.url)
    with Bench(harness, side="sync") as bench:
        command = SCENES[scene](bench)
        before = harness.dump()
        store = RedisStore(with_user(server, f"-{lacking}"), harness.own + "default", scripts=harness.scripts)
        store.open()
        with pytest.raises(bp.BadSetup, match=rf"the user lacks permissions .*\b{lacking}\b.*: nothing was written"):
            store.call(command)
        store.close()
        same = harness.dump() == before
    harness.close()
    return same


@pytest.mark.timeout(240)
@pytest.mark.parametrize("scene", SAMPLE)
def test_nothing_is_half_written(server: RedisServer, scene: str) -> None:
    """A job was made and lined up, and its key not recorded. So the next submit made a second one, and both ran."""
    harness = RedisHarness(server.url)
    with Bench(harness, side="sync") as bench:
        name, _ = arguments(SCENES[scene](bench))
    harness.close()
    calls = rights._calls(scripts.script(name).source) & rights._writing()
    assert calls
    assert [lacking for lacking in sorted(calls) if not left_by(server, scene, lacking)] == []


async def test_nor_from_async_code(server: RedisServer) -> None:
    harness = RedisHarness(server.url)
    store = RedisStore(with_user(server), harness.own + "default")
    store.open()  # the namespace
    store.close()
    lacking = RedisStore(with_user(server, "-zadd"), harness.own + "default")
    await lacking.aopen()
    before = harness.dump()
    for each in (lacking, lacking.sibling()):
        with pytest.raises(bp.BadSetup, match="zadd: nothing was written"):
            await each.acall(new_job())
        await each.aclose()
    assert harness.dump() == before
    harness.close()


async def test_what_is_granted_counts_at_once(server: RedisServer) -> None:
    """As when an ACL with a mistake is corrected. The end of a job is refused to who asks for it: it was never
    answered, and the next claim was refused in its place."""
    RedisStore(with_user(server), "granted").open()
    with_user(server, "-append")
    store = RedisStore(with_user(server, "-append"), "granted")
    await store.aopen()
    end = c.Complete(c.Fence(mint("j"), 1, mint("l")), b"done", None)
    for _ in range(2):
        with pytest.raises(bp.BadSetup, match="append: nothing was written"):
            await asyncio.wait_for(store.acall(end), 30)
    with pytest.raises(bp.BadSetup, match="append: nothing was written"):
        store.call(end)
    with_user(server)
    with pytest.raises(bp.NotFound):
        await store.acall(end)
    with pytest.raises(bp.NotFound):
        store.call(end)
    await store.aclose()


@pytest.mark.parametrize("sync", [True, False])
async def test_what_is_taken_away_is_noticed(server: RedisServer, sync: bool) -> None:
    """A submit that was tried again and again left a job each time, and all of them ran."""
    harness = RedisHarness(server.url)
    store = RedisStore(with_user(server), harness.own + "default")
    await store.aopen()
    with_user(server, "-zadd")

    async def submit() -> None:
        if sync:
            store.call(new_job())
        else:
            await store.acall(new_job())

    with pytest.raises(bp.BadSetup, match="lacks permissions"):
        await submit()
    left = harness.dump()
    for _ in range(3):
        with pytest.raises(bp.BadSetup, match="zadd: nothing was written"):
            await submit()
    assert harness.dump() == left
    with_user(server)
    await submit()
    assert harness.dump() != left
    await store.aclose()
    harness.close()


def test_who_has_all_is_refused_nothing(server: RedisServer) -> None:
    store = RedisStore(with_user(server), "default")
    store.open()
    for name in scripts.names():
        assert store._scripts(name)
    store.close()
