"""The users whose files are shipped: each may do its part on a real server, and nothing else."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis
from redis.exceptions import NoPermissionError

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver, BatonpassStore
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.spans import read_spans
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import draft, open_checkpoint
from batonpass.coordinator.urls import open_store
from tests.harness.bench import MINUTE, Bench, new_job, new_target
from tests.harness.redis import RedisServer, binaries, version_of
from tests.harness.stores import RedisHarness
from tests.redis_store.needed import FILES, allowed, line
from tests.rules.scenes import SCENES, Scene
from tests.workers.serving import Ask, Reply, only

ROLES = ("worker", "client", "reader")
LOOKS: list[c.Command[Any]] = [c.ListJobs(), c.Events(), c.LastEvent(), c.Declared(), c.Takers("q" * 32)]
FORBIDDEN = ["FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG GET *", "ACL LIST", "SCAN 0", "GET other", "SHUTDOWN", "MONITOR"]


@pytest.fixture(params=binaries(), ids=lambda binary: ".".join(map(str, version_of(binary))))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server with the three users, loaded from the files."""
    folder = tmp_path_factory.mktemp("acl")
    users = [(FILES / f"{role}.acl").read_text().replace(" off ", f" on >{role} ") for role in ROLES]
    (folder / "users.acl").write_text("user default on nopass ~* &* +@all\n" + "".join(users))
    made = RedisServer(folder, "--aclfile", str(folder / "users.acl"), binary=request.param)
    made.start()
    yield made
    made.close()


def url_of(server: RedisServer, role: str) -> str:
    return server.url.replace("://", f"://batonpass-{role}:{role}@")


@pytest.mark.parametrize("role", ROLES)
def test_a_file_allows_what_is_needed(role: str) -> None:
    """If this fails, a script uses a new command: `python -m tests.redis_store.needed` writes the files again."""
    assert (FILES / f"{role}.acl").read_text() == line(role, allowed()[role])


def may(server: RedisServer, role: str, scene: Scene) -> bool:
    """Whether a role may carry out the command of a scene, which an administrator set. A refusal changes nothing."""
    harness = RedisHarness(server.url)
    with Bench(harness, side="sync") as bench:
        command = scene(bench)
        before = harness.dump()
        store = RedisStore(url_of(server, role), harness.own + "default", scripts=harness.scripts)
        refusal, administrators = "", bench.store
        try:
            store.open()
            bench.store = store
            bench.do(command)
        except bp.BadSetup as refused:
            refusal = str(refused)
        bench.store = administrators
        store.close()
        if refusal:
            assert "the user lacks permissions" in refusal
            assert harness.dump() == before
    harness.close()
    return not refusal


@pytest.mark.timeout(240)
def test_who_may_do_what(server: RedisServer) -> None:
    for name, scene in SCENES.items():
        assert may(server, "worker", scene), name
        assert may(server, "client", scene) == (not name.startswith("claim")), name
        assert not may(server, "reader", scene), name
    for role in ROLES:
        for command in LOOKS:
            assert may(server, role, partial(_given, command))


def test_a_large_state_in_a_place(server: RedisServer) -> None:
    """What is in logs is read by another command."""
    state = {"doc": ["d" * 70_000] * 2}
    made = draft(Snapshot(step="s", state=state), thread="t", agent="a", place=Place("", "k", "r"))
    with bp.connect(url_of(server, "client")) as client, bp.connect(url_of(server, "reader")) as reader:
        client.store.call(c.Put(made.new))
        found = reader.store.call(c.Find("t", ""))
        assert found is not None
        assert open_checkpoint(found.checkpoint).state == state
        assert reader.store.call(c.ReadSpans("t", tuple(read_spans(made.new.spans)))) == list(found.checkpoint.bodies)
        assert reader.store.call(c.OfRun("r")) == [("t", made.new.id)]
        assert [row.place.key for row in reader.store.call(c.Places("t", None))] == ["k"]
        assert [row.place.key for row in reader.store.call(c.Walk("t", "", "k"))] == ["k"]
        with pytest.raises(bp.BadSetup):
            reader.store.call(c.PutWrites("t", "", "k", [Write("w", b"1")]))


def _given(command: c.Command[Any], _: Bench) -> c.Command[Any]:
    return command


def test_a_restored_checkpoint_and_a_timeline(server: RedisServer) -> None:
    with bp.connect(url_of(server, "client")) as client, bp.connect(url_of(server, "reader")) as reader:
        saved = client.save(thread="t", agent="a", state={"x": 1})
        assert reader.restore(saved.id).state == {"x": 1}
        assert reader.latest(thread="t") == reader.restore(saved.id)
        assert [summary.id for summary in reader.timeline(thread="t")] == [saved.id]


def test_nobody_may_touch_the_server(server: RedisServer) -> None:
    for role in ROLES:
        with redis.Redis.from_url(url_of(server, role)) as client:
            for command in FORBIDDEN:
                with pytest.raises(NoPermissionError):
                    client.execute_command(*command.split())


def test_a_reader_can_not_make_a_namespace(server: RedisServer) -> None:
    with pytest.raises(bp.BadSetup, match=r"nothing is stored yet in this namespace .* let a worker or a client"):
        open_store(url_of(server, "reader"), "new").open()


async def test_a_job_from_client_to_worker_to_reader(server: RedisServer) -> None:
    """With waits and wake-ups: the worker by a blocking pop, the others by subscription."""

    async def answer(ask: Ask) -> Reply:
        return Reply(text=ask.text.upper())

    app = only(answer)
    async with (
        bp.connect(url_of(server, "worker"), app=app) as keeper,
        app.worker(keeper),
        bp.connect(url_of(server, "client"), app=app) as client,
        bp.connect(url_of(server, "reader"), app=app) as reader,
    ):
        job = await client.submit("a", Ask(text="x"), returns=Reply)
        with anyio.fail_after(20):
            assert (await reader.job(job.id, returns=Reply).result()).text == "X"
            assert (await job.result()).text == "X"
        assert [worker.agents for worker in await reader.workers()] == [("a",)]
        assert await client.workers() == await reader.workers()
        with pytest.raises(bp.BadSetup):
            await reader.submit("a", Ask())


def test_a_client_can_not_claim(server: RedisServer) -> None:
    store = open_store(url_of(server, "client"))
    store.open()
    job_id = store.call(new_job()).id
    with pytest.raises(bp.BadSetup, match="the user lacks permissions"):
        store.call(c.Claim("w", ((new_target().queue, MINUTE),), ("lease",)))
    assert store.call(c.ReadJob(job_id)).state == "submitted"
    store.close()


@pytest.mark.capability("langgraph")
async def test_a_client_that_owns_threads(server: RedisServer) -> None:
    """It claims, so it needs one command more, which the refusal and the README name."""
    url = url_of(server, "client")
    with (
        BatonpassSaver.from_url(url) as saver,
        pytest.raises(bp.BadSetup, match=r"and \+xread, if it calls BatonpassSaver\.own"),
        saver.own("t"),
    ):
        pass
    assert "needs `+xread` beside" in (FILES / "README.md").read_text()
    with redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "batonpass-client", "+xread")
    async with BatonpassSaver.from_url(url) as saver:

        async def own() -> None:
            async with saver.own("t", wait=0.1):
                pass

        async with saver.own("t", lease=0.3):
            await anyio.sleep(0.5)  # the lease is renewed
            with pytest.raises(bp.ThreadBusy):
                await asyncio.create_task(own())
        await own()


@pytest.mark.capability("langgraph")
def test_a_reader_of_memory_leaves_its_time_to_live(server: RedisServer) -> None:
    with (
        BatonpassStore.from_url(url_of(server, "client")) as store,
        BatonpassStore.from_url(url_of(server, "reader")) as reader,
    ):
        store.put(("a",), "k", {"v": 1}, ttl=5)
        found = reader.get(("a",), "k")
        assert found is not None
        assert found.value == {"v": 1}
        assert [each.key for each in reader.search(("a",))] == ["k"]
        with pytest.raises(bp.BadSetup, match="lacks permissions"):
            reader.put(("a",), "k", {"v": 2})


@pytest.mark.parametrize(("role", "command"), [("client", ["worker", "desk:app"]), ("reader", ["webhooks", "run"])])
def test_a_service_that_may_not_do_its_work_ends_with_one_line(
    server: RedisServer, tmp_path: Path, role: str, command: list[str]
) -> None:
    (tmp_path / "desk.py").write_text(
        "import batonpass as bp\n"
        "app = bp.App('desk')\n"
        "app.agent('a', accepts=bp.State, returns=bp.State)(lambda state, ctx: state)\n"
    )
    with bp.connect(url_of(server, "client")) as coordinator:
        coordinator.webhook("pager", "https://127.0.0.1:1/x", start="begin")
        coordinator.save(thread="t", agent="x", state={"round": 1})  # an event to be sent
    ran = subprocess.run(
        [sys.executable, "-m", "batonpass", *command, "--store", url_of(server, role)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    complaint = ran.stderr.splitlines()[-1]
    assert re.match("batonpass: redis://.* the user lacks permissions", complaint), ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.returncode == 2


def test_a_reader_exports(server: RedisServer, tmp_path: Path) -> None:
    with bp.connect(url_of(server, "client")) as client, bp.connect(url_of(server, "reader")) as reader:
        for n in range(3):
            client.save(thread="exported", agent="a", state={"doc": ["d" * 70_000] * 2, "n": n})
        job = client.store.call(new_job(thread="exported"))
        assert reader.export_bundle("exported", tmp_path / "thread").checkpoints == 3
        assert reader.export_bundle(job.id, tmp_path / "job").jobs == (job.id,)
        client.job(job.id).cancel()
