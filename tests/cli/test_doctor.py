"""`batonpass doctor` finds what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import os
import resource
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from anyio.from_thread import start_blocking_portal

import batonpass as bp
from batonpass.cli.installed import judged
from batonpass.contracts.contract import contract_ref
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.presence import Present, close_present
from batonpass.coordinator.redis import scripts
from batonpass.coordinator.redis.server import SCHEMA_VERSION
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.safety import UnsafeStore
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.urls import namespace_of

from ..harness.bench import new_job
from ..harness.cluster import Cluster
from ..harness.redis import RedisServer
from ..harness.scripts import with_clock
from ..harness.waiting import wait_until
from ..workers.serving import serving
from .commandline import CommandLine, Ran, kept

Doctor = Callable[..., Ran]


class Old(bp.Contract, name="doctor.order"):
    text: str


class Order(bp.Contract, name="doctor.order", version=2):
    text: str


def made(accepts: type[bp.Contract], version: str = "") -> bp.App:
    app = bp.App("doctor", version=version)

    @app.agent("bill", accepts=accepts, returns=accepts, retries=1)
    def bill(order: bp.Contract) -> bp.Contract:
        raise ValueError("no")

    return app


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Doctor:
    return lambda url, *arguments: CommandLine(url, capsys, monkeypatch)("doctor", *arguments)


def told(ran: Ran, about: str) -> tuple[str, str]:
    """The level and the text of the only finding about a subject."""
    [found] = [each for each in ran.json["findings"] if each["about"] == about]
    return found["level"], found["text"]


def test_it_tells_who_waits_for_whom(store_url: str, doctor: Doctor) -> None:
    with bp.connect(store_url, app=made(Old)) as coordinator:
        coordinator.declare(made(Old))
        coordinator.submit("bill", Old(text="a"))
    with bp.connect(store_url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
    before = kept(store_url)
    ran = doctor(store_url, "--json")
    assert (ran.code, ran.err, ran.json["ok"]) == (0, "", True)
    bill = [(each["level"], each["text"]) for each in ran.json["findings"] if each["about"] == "agent bill"]
    assert bill == [
        ("ok", "doctor.order@2, app doctor, function; no live worker, no job waits"),
        ("warn", "1 job(s) wait with doctor.order@1, and no live worker accepts them; it accepts doctor.order@2 now: "
         "let that read the older one (@app.upcast), or run the earlier version, too"),
    ]  # fmt: skip
    assert told(ran, "jobs")[1].startswith("1 in all; 0 running")
    assert kept(store_url) == before


def test_it_tells_who_serves_and_what_failed(store_url: str, doctor: Doctor) -> None:
    app = made(Order)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, store_url)):
        with bp.connect(store_url, app=app) as coordinator, pytest.raises(bp.JobFailed):
            for name in ("daily", "resting"):
                coordinator.schedule(name, "bill", {"text": "b"}, cron="0 9 * * *")
            coordinator.pause_schedule("resting")
            coordinator.submit("bill", Order(text="a")).result(timeout=30)
        ran = doctor(store_url, "--json")
    level, text = told(ran, "agent bill")
    assert (level, text.partition(": ")[0]) == ("ok", "doctor.order@2, app doctor, function; 1 worker(s)")
    assert told(ran, "dead letters") == ("warn", "1 job(s) failed: see `batonpass dead-letters`")
    assert told(ran, "schedule resting") == ("ok", "paused")
    assert told(ran, "schedules") == ("ok", "2")
    lines = doctor(store_url).out.splitlines()
    assert all(line.split()[0] in ("ok", "warn") for line in lines)
    assert any(line.startswith("warn  dead letters   1 job(s) failed") for line in lines)


def test_a_clock_that_was_set_back(sqlite_url: str, redis_url: str, doctor: Doctor) -> None:
    later = time.time_ns() // 1_000_000 + 3_600_000
    sqlite = SqliteStore(sqlite_url.removeprefix("sqlite:///"), "default", clock=lambda: later)
    address = redis_url.partition("?")[0]
    server = RedisStore(address, namespace_of(redis_url), scripts=with_clock)
    with redis.Redis.from_url(address) as admin:
        admin.set(f"{server.prefix}clock", later)
    for url, store in ((sqlite_url, sqlite), (redis_url, server)):
        with bp.connect(url, app=made(Order)) as coordinator:
            coordinator.declare(made(Order))
            coordinator.submit("bill", Order(text="a"))
        assert "time" not in [each["about"] for each in doctor(url, "--json").json["findings"]]
        store.open()
        store.call(new_job())
        store.close()
        level, text = told(doctor(url, "--json"), "time")
        assert level == "warn"
        assert text.startswith("the newest job was made 0:59:"), text


def test_live_workers_are_listed_with_their_versions(store_url: str, doctor: Doctor, cli: CommandLine) -> None:
    """A deploy that is not finished shows, of an app or of Batonpass."""
    apps = [made(Order, version=version) for version in ("2.4", "2.3")]
    older = Present("other-1", "0.0.9", "doctor", "2.4")
    assert cli("workers", "--json").json == []
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(apps[0], store_url)) as coordinator,
    ):
        present = wait_until(lambda: cli("workers", "--json").json)
        assert [{**each, "id": ""} for each in present] == [
            {"id": "", "batonpass": bp.__version__, "app": "doctor", "version": "2.4", "agents": ["bill"], "paused": []}
        ]
        text = f"1 live: Batonpass {bp.__version__}, app doctor 2.4"
        assert told(doctor(store_url, "--json"), "workers") == ("ok", text)
        queues = (queue_of("bill", contract_ref(Order)),)
        portal.call(coordinator.store.acall, c.Reap(worker=close_present(older), queues=queues, presence=60_000))
        with portal.wrap_async_context_manager(serving(apps[1], store_url)):
            wait_until(lambda: len(cli("workers", "--json").json) == 3)
            ran, listed = doctor(store_url, "--json"), cli("workers").out
    assert [line.split()[1:] for line in listed.splitlines() if line.startswith("other-1")] == [
        ["doctor", "2.4", "0.0.9", "bill"]
    ]
    warned = [each["text"] for each in ran.json["findings"] if (each["about"], each["level"]) == ("workers", "warn")]
    assert [text.partition(" (")[0] for text in warned] == [
        "live workers run several versions of Batonpass",
        "live workers run several versions of app doctor",
    ]
    assert "0.0.9: other-1; 0.1.0: " in warned[0]


def test_a_version_may_be_a_date(sqlite_url: str, doctor: Doctor) -> None:
    class Dated(bp.Contract, name="doctor.dated", version=20_311_122):
        text: str

    with bp.connect(sqlite_url, app=made(Dated)) as coordinator:
        coordinator.declare(made(Dated))
    assert told(doctor(sqlite_url, "--json"), "agent bill")[1].startswith("doctor.dated@20311122")


def test_an_agent_whose_record_can_not_be_read(store_url: str, doctor: Doctor, cli: CommandLine) -> None:
    app = made(Order)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, store_url)) as coordinator:
        portal.call(coordinator.store.acall, c.Declare({"odd": b"damaged"}))
        wait_until(lambda: [each["agents"] for each in cli("workers", "--json").json] == [["bill"]])
        ran = doctor(store_url, "--json")
    level, text = told(ran, "agent odd")
    assert (level, text.partition(":")[0]) == ("warn", "its record can't be read")
    assert told(ran, "agent bill")[0] == "ok"


def test_a_job_whose_workers_have_all_gone(store_url: str, doctor: Doctor) -> None:
    app = made(Order)
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        coordinator.submit("bill", Order(text="a"))
        queue = queue_of("bill", contract_ref(Order))
        assert len(coordinator.store.call(c.Claim("w", ((queue, 60_000),), (mint("l"),)))) == 1
    levels = [each["level"] for each in doctor(store_url, "--json").json["findings"] if each["about"] == "jobs"]
    assert levels == ["warn", "ok"]


def test_a_worker_that_holds_a_job_but_does_not_report_itself(store_url: str, doctor: Doctor) -> None:
    """It is held up, or has just died: that no worker is there can't be known before the lease's end."""
    queue, present = queue_of("bill", contract_ref(Order)), close_present(Present("slow", "0.1.0", "doctor", ""))
    with bp.connect(store_url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
        jobs = [coordinator.submit("bill", Order(text="a")).id for _ in range(2)]
        coordinator.store.call(c.Claim("w", ((queue, 60_000),), (mint("l"),)))
        level, text = told(doctor(store_url, "--json"), "agent bill")
        says = f"1 job(s) wait, and no worker reports that it serves the agent, but w holds job {jobs[0]}: "
        assert (level, text[: len(says)]) == ("warn", says)
        coordinator.store.call(c.Reap(worker=present, queues=(queue,), presence=60_000))
        assert "1 job(s) are ready, the first for 0 s: if that goes on" in doctor(store_url).out


def test_a_job_that_its_workers_die_of(store_url: str, doctor: Doctor, cli: CommandLine) -> None:
    """It looks like any other waiting job, and has no error yet."""
    with bp.connect(store_url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
        job = coordinator.submit("bill", Order(text="a"))
        queue = queue_of("bill", contract_ref(Order))
        for crashes in (1, 2):
            lease = (mint("l"),)
            wait_until(lambda lease=lease: coordinator.store.call(c.Claim("w", ((queue, 1),), lease)))  # type: ignore[misc]
            wait_until(lambda: coordinator.store.call(c.Reap()).moved)
            assert job.info().crashes == crashes
            died = f"{crashes} worker(s) died or went silent while they ran it"
            assert died in cli("jobs").out
            found = doctor(store_url, "--json").json["findings"]
            warned = [each["text"] for each in found if each["about"] == "crashes"]
            assert [text.partition(" (10 park it): ")[0] for text in warned] == (
                [f"1 job(s) lose their workers, e.g. {job.id} at bill, {died}"] if crashes > 1 else []
            )


def test_jobs_that_need_a_key(store_url: str, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who only looks may do without, but a worker with these settings could run nothing."""
    with bp.connect(store_url, app=made(Order), codec=bp.Codec(encrypt={"k": b"k" * 32})) as coordinator:
        coordinator.declare(made(Order))
        job = coordinator.submit("bill", Order(text="x"))
    for variables, why in (
        ({}, f"the envelope of job {job.id} is encrypted, signed or compressed"),
        ({"BATONPASS_ENCRYPT_KEYS": f"k:{'o' * 43}="}, "is encrypted with another key 'k' than"),
    ):
        with monkeypatch.context() as patched:
            for name, value in variables.items():
                patched.setenv(name, value)
            level, text = told(doctor(store_url, "--json"), "keys")
        assert level == "warn"
        assert text.startswith("1 of the 1 newest job(s) can't be read here: ")
        assert why in text


def test_a_reader_sees_it_all(own_redis: RedisServer, doctor: Doctor) -> None:
    with bp.connect(own_redis.url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
        coordinator.submit("bill", Order(text="a"))
    with own_redis.client() as admin:
        line = (Path(scripts.__file__).with_name("acl") / "reader.acl").read_text().replace(" off ", " on >secret ")
        admin.execute_command("ACL", "SETUSER", *line.split()[1:])
        before = kept(f"{own_redis.url}?namespace=default")
        ran = doctor(own_redis.url.replace("://", "://batonpass-reader:secret@"), "--json")
        assert kept(f"{own_redis.url}?namespace=default") == before
    assert (ran.code, "secret" in ran.out) == (0, False)
    assert told(ran, "safety") == ("ok", "append-only file, its appendfsync can't be seen from here")
    assert told(ran, "agent bill") == ("warn", "1 job(s) wait, and no live worker serves it: start one")
    assert "can't be looked at" not in ran.out


def test_a_server_that_forgets_is_told_in_the_words_of_connect(own_redis: RedisServer, doctor: Doctor) -> None:
    bp.connect(own_redis.url).open()
    assert told(doctor(own_redis.url, "--json"), "safety")[1].startswith("append-only file, appendfsync always: ")
    with own_redis.client() as admin:
        admin.config_set("appendonly", "no")
        with pytest.warns(UnsafeStore) as warned:
            bp.connect(own_redis.url).open()
        ran = doctor(own_redis.url, "--json")
        warnings = [
            each["text"] for each in ran.json["findings"] if (each["level"], each["about"]) == ("warn", "safety")
        ]
        assert (ran.code, ran.err, warnings) == (0, "", [str(warned[0].message)])
        for name, value, complaint in (
            ("moved", "moved 1 redis://other", "was moved to redis://other"),
            ("schema", str(SCHEMA_VERSION + 1), "a newer Batonpass made this namespace"),
        ):
            before = admin.get(f"bp:{{default:0}}:{name}")
            admin.set(f"bp:{{default:0}}:{name}", value)
            ran = doctor(own_redis.url)
            assert ran.code == 1
            assert [line for line in ran.out.splitlines() if line.startswith("fail  namespace") and complaint in line]
            admin.set(f"bp:{{default:0}}:{name}", before) if before else admin.delete(f"bp:{{default:0}}:{name}")
        assert doctor(f"{own_redis.url}?namespace=new").code == 0
        assert list(admin.scan_iter(match="bp:{new:*", count=1000)) == []
    ran = doctor("redis://127.0.0.1:1")
    assert (ran.code, ran.out.splitlines()[-1][:29]) == (1, "fail  store          no Redis")
    assert "ok    store" not in ran.out


def test_a_server_that_runs_no_scripts(tmp_path: Path, doctor: Doctor) -> None:
    server = RedisServer(tmp_path, "--rename-command", "EVALSHA", "")
    server.start()
    try:
        bp.connect(server.url).open()
        ran = doctor(server.url, "--json")
    finally:
        server.close()
    level, text = told(ran, "agents")
    assert (ran.code, level) == (1, "fail")
    assert "unknown command" in text


def test_a_server_that_is_full(own_redis: RedisServer, doctor: Doctor) -> None:
    """What lies there is told all the same."""
    with bp.connect(own_redis.url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
        coordinator.submit("bill", Order(text="a"))
    with own_redis.client() as admin:
        admin.setrange("ballast", 20_000_000, "x")  # compared with this, a connection is small
        used: Any = admin.info("memory")
        for most, level, code in ((0.5, "fail", 1), (1.05, "warn", 0), (5, "", 0)):
            admin.config_set("maxmemory", int(used["used_memory"] * most))
            ran = doctor(own_redis.url, "--json")
            levels = [each["level"] for each in ran.json["findings"] if each["about"] == "memory"]
            assert (ran.code, levels) == (code, [level] if level else [])
            assert told(ran, "jobs")[1].startswith("1 in all")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process's files")
@pytest.mark.capability("redis-disk-full")
def test_a_server_whose_disk_is_full(tmp_path: Path, doctor: Doctor) -> None:
    server = RedisServer(tmp_path)  # with `everysec`: with `always` it would end
    server.start()
    try:
        with bp.connect(server.url, app=made(Order)) as coordinator, server.client() as admin:
            coordinator.declare(made(Order))
            server.limit_files(1)
            admin.set("bp:test", "to be kept")
            disk: Callable[[], Any] = partial(admin.info, "persistence")
            wait_until(lambda: disk()["aof_last_write_status"] == "err", what="the disk is not full")
            ran = doctor(server.url, "--json")
    finally:
        server.close()
    assert (ran.code, told(ran, "disk")[0]) == (1, "fail")
    assert "it refuses writes until it can" in told(ran, "disk")[1]
    assert "safety" not in [each["about"] for each in ran.json["findings"]]
    assert told(ran, "agent bill")[0] == "ok"


def test_an_older_file_is_not_migrated(tmp_path: Path, doctor: Doctor) -> None:
    path = tmp_path / "store.db"
    with bp.connect(f"sqlite:////{path}"):
        pass
    with closing(sqlite3.connect(path)) as db:
        [latest] = db.execute("PRAGMA user_version").fetchone()
        db.execute(f"PRAGMA user_version = {latest - 1}")
    ran = doctor(f"sqlite:////{path}", "--json")
    assert ran.code == 0
    assert told(ran, "schema")[0] == "warn"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (latest - 1,)
        db.execute("PRAGMA application_id = 7")
    ran = doctor(f"sqlite:////{path}")
    assert (ran.code, "fail  file           " in ran.out, "another program" in ran.out) == (1, True, True)
    ran = doctor(f"sqlite:////{tmp_path}/none.db")
    assert (ran.code, "there is no file" in ran.out, os.listdir(tmp_path)) == (1, True, ["store.db"])
    assert "ok    store" not in ran.out
    ran = doctor(f"sqlite:////{tmp_path}/none/store.db")
    assert (ran.code, "there is no folder" in ran.out) == (1, True)


def test_all_partitions_of_a_cluster(three_nodes: Cluster, doctor: Doctor) -> None:
    url = f"{three_nodes.url}?namespace=doctor"
    assert "it is empty: is it the right one?" in told(doctor(url, "--json"), "namespace")[1]
    with bp.connect(url, app=made(Order)) as coordinator:
        coordinator.declare(made(Order))
        for number in range(12):
            coordinator.submit("bill", Order(text="a"), key=str(number))
    ran = doctor(url, "--json")
    assert told(ran, "agent bill") == ("warn", "12 job(s) wait, and no live worker serves it: start one")
    assert told(ran, "jobs")[1].startswith("12 in all")
    assert "16 partitions" in ran.out


def test_what_is_installed() -> None:
    found = [
        (each.level, each.text)
        for each in judged([
            "pydantic<3,>=2; extra == 'a'", 'redis[hiredis]<2,>=1; extra == "redis"', "none>=1; extra == 'b'", "none>=1"
        ])
    ]  # fmt: skip
    assert [level for level, _ in found] == ["warn", "ok", "ok"]
    assert found[0][1] == f"redis {redis.__version__} is installed, but <2,>=1 is what was tested: " + (
        "pip install 'batonpass[redis]'"
    )
    assert found[2][1] == "without the extras b (pip install 'batonpass[NAME]')"
