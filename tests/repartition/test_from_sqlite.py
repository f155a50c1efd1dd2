"""A namespace in a SQLite file goes to Redis: all of it is there, and goes on."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemName
from batonpass.coordinator.redis.moving.move_in import MovedIn, MoveIn
from batonpass.coordinator.redis.moving.side import Side
from batonpass.coordinator.redis.place import prefix_of
from batonpass.coordinator.redis.store import RedisStore
from tests.cli.commandline import CommandLine
from tests.harness.bench import MINUTE, Bench, fence_of, new_job, new_target
from tests.harness.keyspace import Keyspace
from tests.harness.redis import RedisServer
from tests.harness.stores import RedisHarness, SqliteHarness
from tests.model.world import ENDED, QUEUES, STEP, World
from tests.repartition.conftest import Desk, Killed, app
from tests.repartition.full import ALL, answers, end_all, fill
from tests.sqlite.older import lines_as_text

pytestmark = pytest.mark.usefixtures("quiet_witness")
_STEPS = 300


def settle(world: World, path: Path) -> None:
    """Let what runs end, also fan-outs; forget what does not last."""
    for _ in range(100):
        rows = [row for row in world.model.do(c.ListJobs(ALL)) if row.state not in ENDED]
        for row in rows:
            if row.reason == "waiting_children" or row.brood:
                world.ask(c.Cancel(row.id))
        if not any(row.lease or row.brood for row in rows):
            break
        world.advance(STEP)
        world.ask(c.Reap(limit=500))
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DELETE FROM presence; DELETE FROM stream; DELETE FROM stream_end")
        lines_as_text(db, "step_index % 2 = 0")  # as in a file that an older Batonpass began
        db.commit()


def add_what_waits(world: World) -> None:
    """What the moves make too seldom, or what ends by itself."""
    for _ in range(3):
        world.ask(new_job(thread="line", on_busy="queue"))
    world.ask(new_job(agent="late", terms=c.Terms(expires=9 * STEP)))
    world.ask(c.WriteItems((ItemChange(ItemName(("a",), "k"), b"value", ttl=9 * STEP),)))
    world.ask(c.JoinGroup("reading"))
    world.ask(c.TakeEvents("reading", mint("l"), 9 * STEP, 5))
    queue = new_target("limited").queue
    for _ in range(2):
        world.ask(new_job(agent="limited"))
        limits = {queue: c.Limits("0" * 32, count=1, per=9 * STEP)}
        for delivery in world.ask(c.Claim("w", ((queue, MINUTE),), (mint("l"),), limits)):
            world.ask(c.Complete(fence_of(delivery), b"done"))
    world.advance(STEP)
    world.ask(c.Reap(limit=500))


def ready(path: Path) -> dict[str, list[str]]:
    """Which deliveries are ready in each queue, in their order."""
    found: dict[str, list[str]] = {queue: [] for queue in QUEUES}
    with closing(sqlite3.connect(path)) as db:
        for queue, job in db.execute("SELECT queue, id FROM job WHERE ready > 0 ORDER BY ready"):
            found.setdefault(queue, []).append(job)
    return found


def moved(source: str, target: str, harness: SqliteHarness) -> MovedIn:
    with closing(MoveIn(source, target, clock=harness.clock)) as move:
        return move.run()


# Not moved, or each store's own: positions, wake-ups.
_OTHERWISE = ["b", "j", "l", "ls", "q", "w", "p", "s", "events", "trimmed", "clock", "epoch", "schema", "partitions"]


def kept(server: RedisHarness, namespace: str) -> dict[str, Any]:
    """What a namespace keeps, except places in queues and lines, and what a thread knows about its tip under a job."""
    found: dict[str, Any] = {}
    for key, value in Keyspace(server.server, prefix_of(f"{server.own}{namespace}", 0)).keys.items():
        kind = key.partition(":")[0]
        if kind in ("a", "lw"):
            found[key] = sorted(value, key=value.get)
        elif kind == "h":
            found[key] = {name for name in value if name.startswith(b"#")}
        elif kind == "t":
            found[key] = {name: line for name, line in value.items() if line and name not in (b"tip", b"count")}
        elif kind == "expiry":  # what a job needed is looked at again a minute later
            found[key] = set(value)
        elif kind not in _OTHERWISE:
            found[key] = value
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_all_is_there_and_goes_on(tmp_path: Path, server: RedisHarness, redis_server: str, seed: int) -> None:
    """... as if it had been on Redis from the first."""
    file = SqliteHarness(tmp_path / "store.db")
    source, target = f"sqlite:///{file.path}?namespace=old", f"{redis_server}?namespace={server.own}new"
    with Bench(file, side="sync", namespace="old") as bench, Bench(server, side="sync", namespace="twin") as twin:
        world = fill(bench, _STEPS, seed, twin=twin)
        world.ask(new_job(key="kept"))
        settle(world, file.path)
        add_what_waits(world)
        before, dump, order = answers(world, bench), file.dump(), ready(file.path)
        done = moved(source, target, file)
        left: dict[str, Any] = dict(file.dump())
        [(name, mark)] = left.pop("moved")
        assert (name, mark.split()[::2]) == ("old", ["moved", done.target])
        assert (done.rows > 100, done.elements > 300, {**left, "moved": []} == dump) == (True, True, True)
    new, native = kept(server, "new"), kept(server, "twin")
    differing = {key for key in new.keys() | native.keys() if new.get(key) != native.get(key)}
    assert {key: (new.get(key), native.get(key)) for key in differing} == {}
    with Bench(server, side="sync", namespace="new") as bench:
        after = answers(world, bench)
        assert {key: (value, after.get(key)) for key, value in before.items() if value != after.get(key)} == {}
        assert after.keys() == before.keys()
        assert isinstance(bench.store, RedisStore)
        for queue, jobs in order.items():
            entries: Any = server.server.xrange(f"{bench.store.prefix}q:{queue}")
            assert [told[b"job"].decode() for _, told in entries] == jobs
            if jobs:  # metrics say since when the oldest waits
                assert int(entries[0][0].partition(b"-")[0]) == bench.job(jobs[0]).updated
        problems = Keyspace(server.server, bench.store.prefix).problems(events=False)
        assert [text for text in problems if "would resume from" not in text] == []  # the moves drop tips before
        # Its line has moved; nobody claims from that queue.
        assert [(row.agent, row.reason) for row in end_all(bench)] == [("limited", "ready")]


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine("memory://", capsys, monkeypatch)


async def test_a_user_goes_on_there(tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine) -> None:
    source, target = f"sqlite:////{tmp_path}/a.db", f"{redis_server}?namespace={server.own}desk"
    long = {"said": [f"{number} " + "word " * 9000 for number in range(9)]}
    with bp.connect(source, app=app) as old:
        done = old.save(thread="talk", agent="write", step="one", state=long)
        old.name(done.id, "good")
        old.save(thread="edited", agent="write", step="one", state=long)
        edited = {"said": [*long["said"][:2], *[f"{word}!" for word in long["said"][2:6]], *long["said"][6:]]}
        last = old.save(thread="edited", agent="write", step="two", state=edited)
        old.prune("edited", keep_last=1)  # what lies between is gone from the log
        job = old.submit("write", Desk(topic="new"), key="kept")
        old.schedule("daily", "write", {"topic": "x"}, cron="0 9 * * *")
    ran = line("move", source, target, "--json")
    assert (ran.code, ran.json["rows"] > 10) == (0, True), ran
    assert "a.db?namespace=default was moved to redis://" in line("move", source, target).complaint
    async with bp.connect(target, app=app) as new, app.worker(new):
        same = await new.submit("write", Desk(topic="new"), key="kept", returns=Desk)
        assert (same.id, (await same.result()).topic) == (job.id, "new")
        assert (await new.restore(last.id)).state == edited
        more = await new.save(thread="talk", agent="write", parent=done.id, append={"said": ["more"]})
        assert (await new.restore(more.id)).state == {"said": [*long["said"], "more"]}
        assert [each.name for each in await new.timeline(thread="talk", named=True)] == ["good"]
        assert [each.name for each in await new.schedules()] == ["daily"]


def test_a_server_that_is_full(tmp_path: Path, own_redis: RedisServer, line: CommandLine) -> None:
    """What was copied stays, until there is room. The file can be used as before."""
    source, target = f"sqlite:////{tmp_path}/a.db", f"{own_redis.url}?namespace=new"
    with bp.connect(source, app=app) as old:
        for number in range(40):
            old.save(thread=f"talk {number}", agent="write", state={"said": [random.randbytes(50_000).hex()]})
        with own_redis.client() as server:
            server.config_set("maxmemory-policy", "noeviction")
            server.config_set("maxmemory", int(server.info("memory")["used_memory"]) + 2_000_000)
        full = line("move", source, target)
        assert (full.code, "is not filled, since its server takes no more" in full.complaint) == (2, True), full
        assert "being filled" in line("jobs", "--store", target).complaint
        with own_redis.client() as server:
            server.config_set("maxmemory", 0)
        assert len(old.timeline(thread="talk 0")) == 1
        assert line("move", source, target).code == 0
    with bp.connect(target) as new:
        assert len(new.timeline(thread="talk 39")) == 1


def test_a_program_that_goes_on_is_told_where(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine
) -> None:
    """What it wrote to the file would be found by nobody. What is there can be read."""
    source = f"sqlite:////{tmp_path}/a.db"
    secret = redis_server.replace("redis://", "redis://default:secret@") + f"?namespace={server.own}new"
    with bp.connect(source, app=app) as old, bp.connect(f"{source}?namespace=other", app=app) as other:
        job = old.submit("write", Desk(topic="new"))
        saved = old.save(thread="talk", agent="write", state={"said": ["x"]})
        assert line("move", source, secret).code == 0
        for write in (
            lambda: old.submit("write", Desk(topic="late")),
            lambda: old.save(thread="talk", agent="write", state={"said": ["x", "late"]}),
            lambda: old.save(thread="late", agent="write", state={}),
            lambda: job.cancel(),
            lambda: old.name(saved.id, "good"),
            lambda: old.hand_off(saved.id, to="write", payload=Desk(topic="late")),
            lambda: old.schedule("daily", "write", {"topic": "x"}, cron="0 9 * * *"),
        ):
            with pytest.raises(bp.BadSetup, match=r"was moved to redis://[^@]*new: use that") as told:
                write()
            assert "secret" not in str(told.value)
        assert [each.id for each in old.jobs()] == [job.id]
        assert old.restore(saved.id).state == {"said": ["x"]}
        other.submit("write", Desk(topic="another namespace"))
    found = line("doctor", "--store", source, "--json")
    assert (found.code, "this namespace was moved to redis://" in found.out) == (1, True)


@pytest.mark.filterwarnings("always::batonpass.coordinator.safety.UnsafeStore")
def test_who_looks_there_is_told_where(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine
) -> None:
    """What is there may be long out of date."""
    source, target = f"sqlite:////{tmp_path}/a.db", f"{redis_server}?namespace={server.own}new"
    with bp.connect(source, app=app) as old, bp.connect(f"{source}?namespace=other", app=app):
        job = old.submit("write", Desk(topic="new"))
        assert line("jobs", "--store", source).err == ""
        assert line("move", source, target).code == 0
    for look in (("jobs",), ("show", job.id)):
        ran = line(*look, "--store", source, "--json")
        assert (ran.code, job.id in ran.out) == (0, True)
        [told] = ran.err.splitlines()
        assert "a.db: this namespace was moved to redis://" in told
    assert line("jobs", "--store", source, "--namespace", "other").err == ""
    assert line("move", source, target, "--cancel").code == 0
    assert line("jobs", "--store", source).err == ""


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_who_waits_there_is_told_where(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine, side: str
) -> None:
    """Nothing will happen there any more."""
    source = f"sqlite:////{tmp_path}/a.db"

    async def waits(coordinator: Any, job: str) -> None:
        handle = coordinator.job(job)
        result = partial(handle.result, timeout=10)
        with pytest.raises(bp.BadSetup, match="was moved to"):
            await (result() if side == "async" else to_thread.run_sync(result))

    async with bp.connect(source, app=app) as old:
        job = await old.submit("write", Desk(topic="new"))
        with bp.connect(source, app=app) as beside:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(waits, old if side == "async" else beside, job.id)
                await anyio.wait_all_tasks_blocked()
                ran = await to_thread.run_sync(line, "move", source, f"{redis_server}?namespace={server.own}new")
                assert ran.code == 0
            await waits(old if side == "async" else beside, job.id)


async def test_a_worker_that_starts_there_is_told_where(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine
) -> None:
    source = f"sqlite:////{tmp_path}/a.db"
    async with bp.connect(source, app=app) as old:
        await old.submit("write", Desk(topic="new"))
        assert (await to_thread.run_sync(line, "move", source, f"{redis_server}?namespace={server.own}new")).code == 0
        with pytest.raises(bp.BadSetup, match="was moved to"):
            async with app.worker(old):
                pass


def test_a_complete_move_is_undone(tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine) -> None:
    source = f"sqlite:////{tmp_path}/a.db"
    target, other = (f"{redis_server}?namespace={server.own}{name}" for name in ("new", "other"))
    with bp.connect(source, app=app) as old:
        job = old.submit("write", Desk(topic="new"))
        assert line("move", source, target).code == 0
        assert "was moved to" in line("move", source, other).complaint
        assert "was moved to" in line("move", source, other, "--cancel").complaint
        with bp.connect(target, app=app) as new:
            reap = c.Reap(worker="w", queues=(new_target().queue,), presence=MINUTE)
            new.store.call(reap)
            assert "1 worker(s) are at work" in line("move", source, target, "--cancel").complaint
            new.store.call(c.Reap(worker="w", queues=(new_target().queue,), presence=1))
            ran = line("move", source, target, "--cancel")
            assert (ran.code, "start no worker there" in ran.out) == (0, True), ran
            assert [each.id for each in new.jobs()] == [job.id]
        old.submit("write", Desk(topic="late"))
        assert "nothing to cancel" in line("move", source, target, "--cancel").complaint
        assert "is there already, and not empty" in line("move", source, target).complaint
        assert line("move", source, other).code == 0


def test_a_namespace_that_somebody_has_only_looked_at_is_taken(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine
) -> None:
    source, target = f"sqlite:////{tmp_path}/a.db", f"{redis_server}?namespace={server.own}looked"
    with bp.connect(source, app=app) as old:
        job = old.submit("write", Desk(topic="new"))
    with bp.connect(target) as new:
        assert new.jobs() == []
    assert line("move", source, target).code == 0
    with bp.connect(target) as new:
        assert [each.id for each in new.jobs()] == [job.id]


def test_what_somebody_writes_at_the_last_moment_stays(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = f"sqlite:////{tmp_path}/a.db", f"{redis_server}?namespace={server.own}late"
    with bp.connect(source, app=app) as old:
        old.submit("write", Desk(topic="old"))
    check = MoveIn._check_source
    with bp.connect(target, app=app) as late:

        def submit(move: MoveIn, connection: sqlite3.Connection) -> None:
            check(move, connection)
            late.submit("write", Desk(topic="late"), key="late")

        monkeypatch.setattr(MoveIn, "_check_source", submit)
        for _ in range(2):
            assert "is there already, and not empty: name a new ?namespace=" in line("move", source, target).complaint
        [job] = late.jobs()
        assert late.submit("write", Desk(topic="late"), key="late").id == job.id


def test_what_can_not_be_moved_is_left(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine
) -> None:
    file, target = SqliteHarness(tmp_path / "store.db"), f"{redis_server}?namespace={server.own}new"
    file.clock.now = time.time_ns() // 1_000_000
    source = f"sqlite:///{file.path}"
    assert "there is no file" in line("move", source, target).complaint
    with Bench(file, side="sync") as bench:
        fence = bench.start()
        assert "1 running jobs" in line("move", source, target).complaint
        bench.do(c.Release(fence))
        bench.do(c.Reap(worker="w", queues=(new_target().queue,), presence=MINUTE))
        assert "1 live workers" in line("move", source, target).complaint
    assert "is no SQLite file" in line("move", target, target).complaint
    assert list(server.server.scan_iter(match=f"bp:{{{server.own}*", count=1000)) == []


def test_one_that_was_killed_is_run_again_or_canceled(
    tmp_path: Path, server: RedisHarness, redis_server: str, line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of its calls."""
    source, target = f"sqlite:////{tmp_path}/a.db", f"{redis_server}?namespace={server.own}new"
    with bp.connect(source, app=app) as old:
        job = old.submit("write", Desk(topic="new"), key="kept")
        old.save(thread="talk", agent="write", step="one", state={"said": ["x" * 900] * 9})
    ask, count, at = Side._exchange, 0, 0

    def dying(side: Side, *arguments: Any, **options: Any) -> Any:
        nonlocal count
        count -= 1
        if count == 0:
            raise Killed
        return ask(side, *arguments, **options)

    monkeypatch.setattr(Side, "_exchange", dying)
    for at in range(1, 100):
        count = at
        try:
            with closing(MoveIn(source, target)) as move:
                move.run()
            break
        except Killed:
            count = 0
        if list(server.server.scan_iter(match=f"bp:{{{server.own}*:moved", count=1000)):
            with pytest.raises(bp.BadSetup, match="is being filled from"), bp.connect(target):
                pass
            if at % 2:
                assert line("move", source, target, "--cancel").code == 0
                assert list(server.server.scan_iter(match=f"bp:{{{server.own}*", count=1000)) == []
                with bp.connect(source, app=app) as old:
                    old.submit("write", Desk(topic="new"), key="kept")
    assert at > 10
    with bp.connect(target, app=app) as new:
        assert new.submit("write", Desk(topic="new"), key="kept").id == job.id
