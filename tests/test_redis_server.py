"""What Batonpass asks of a Redis server when it connects, and how it goes on when the server fails."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.moving.side import Side
from batonpass.coordinator.redis.server import SCHEMA_VERSION, UnsafeStore, check_server
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.urls import open_store
from tests.harness.bench import Bench, new_checkpoint, new_job
from tests.harness.redis import RedisServer, binaries, find_binary, version_of
from tests.harness.stores import RedisHarness

GOOD = {"redis_version": "7.2.4", "aof_enabled": 1, "maxmemory": 0, "maxmemory_policy": "noeviction"}


@pytest.fixture
def server(own_redis: RedisServer) -> Iterator[redis.Redis]:
    with own_redis.client() as client:
        yield client


@pytest.mark.parametrize("version", ["6.2.0", "6.2.14", "7.0.15", "7.4", "8.0.1", "10.1.0"])
def test_a_server_that_will_do(version: str) -> None:
    check_server({**GOOD, "redis_version": version}, b"1", "redis://x")


@pytest.mark.parametrize("version", ["6.0.16", "5.0.14", "2.8"])
def test_a_server_that_is_too_old(version: str) -> None:
    with pytest.raises(bp.BadSetup, match=f"redis://x runs Redis {version}: Batonpass needs 6.2 or newer"):
        check_server({**GOOD, "redis_version": version}, None, "redis://x")


def test_a_namespace_of_a_newer_batonpass(own_redis: RedisServer, server: redis.Redis) -> None:
    store = RedisStore(own_redis.url, "default")
    server.set(f"{store.prefix}schema", SCHEMA_VERSION + 1)
    with pytest.raises(bp.BadSetup, match=f"newer Batonpass.*schema {SCHEMA_VERSION + 1}, .*: install that version"):
        store.open()
    store.close()


@pytest.mark.parametrize("key", ["schema", "partitions"])
@pytest.mark.parametrize("held", ["", "q", "\udcff", "1.5", "1" * 5000])
def test_a_damaged_namespace_says_what_is_wrong(
    key: str, held: str, own_redis: RedisServer, server: redis.Redis
) -> None:
    store = RedisStore(own_redis.url, "default")
    store.open()
    written = held.encode(errors="surrogateescape")
    server.set(f"{store.prefix}{key}", written)
    store.close()
    told = re.escape(f"{store.url}: the namespace's key {key!r} holds {written!r}, which is no number")
    with pytest.raises(bp.Corrupted, match=told):
        store.open()
    [problem] = [each.text for each in store.examine().findings if each.level == "fail"]
    assert re.match(told, problem)
    store.close()
    if key == "partitions":
        with pytest.raises(bp.Corrupted, match=told):
            Side(own_redis.url)


def test_a_schema_that_is_no_string(own_redis: RedisServer, server: redis.Redis) -> None:
    server.lpush("bp:{default:0}:schema", "1")
    with pytest.raises(bp.Corrupted, match="'schema' holds a value of another type, which is no number"):
        bp.connect(own_redis.url).open()


def test_the_schema_version_is_kept(own_redis: RedisServer, server: redis.Redis) -> None:
    with bp.connect(own_redis.url):
        assert server.get("bp:{default:0}:schema") == b"%d" % SCHEMA_VERSION


def test_a_server_that_forgets_is_reported(own_redis: RedisServer, server: redis.Redis) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.connect(own_redis.url).open()
    server.config_set("appendonly", "no")
    with pytest.warns(UnsafeStore, match="no append-only file: a restart loses what was acknowledged"):
        bp.connect(own_redis.url).open()


def test_a_server_that_may_evict_is_reported(own_redis: RedisServer, server: redis.Redis) -> None:
    server.config_set("maxmemory", 100_000_000)
    bp.connect(own_redis.url).open()
    server.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.warns(UnsafeStore, match=r"may evict jobs .*allkeys-lru; set it to noeviction"):
        bp.connect(own_redis.url).open()


def test_a_wrong_password_and_a_user_without_channels(own_redis: RedisServer, server: redis.Redis) -> None:
    server.execute_command("ACL SETUSER", "limited", "on", ">secret", "~bp:*", "+@all", "resetchannels")
    with pytest.raises(bp.BadSetup, match="refused the login"):
        bp.connect(own_redis.url.replace("://", "://limited:wrong@")).open()
    with pytest.raises(bp.BadSetup, match="&bp:"):
        bp.connect(own_redis.url.replace("://", "://limited:secret@")).open()
    server.execute_command("ACL SETUSER", "limited", "&bp:*")
    coordinator = bp.connect(own_redis.url.replace("://", "://limited:secret@")).open()
    assert "secret" not in coordinator.url


def test_no_password(own_redis: RedisServer, server: redis.Redis) -> None:
    """Redis's own message is about the protocol's HELLO, and does not help somebody who forgot the password."""
    server.config_set("requirepass", "secret")
    with pytest.raises(bp.BadSetup, match=r"the URL has none: redis://USER:PASSWORD@HOST, or redis://:PASSWORD@HOST$"):
        bp.connect(own_redis.url).open()
    bp.connect(own_redis.url.replace("://", "://:secret@")).open()


def test_nobody_there() -> None:
    with pytest.raises(bp.Unreachable, match=r"no Redis at redis://127\.0\.0\.1:1/0"):
        bp.connect("redis://127.0.0.1:1").open()


def test_a_server_that_is_gone_and_comes_back(own_redis: RedisServer) -> None:
    """The same handle, sync and async, first gives an error that says so, and then works, although the server has
    forgotten the scripts."""
    store = open_store(own_redis.url)
    with asyncio.Runner() as runner:
        sides: list[Callable[[c.Command[Any]], Any]] = [store.call, lambda command: runner.run(store.acall(command))]
        before = [call(new_job()).id for call in sides]
        own_redis.kill()
        for call in sides:
            with pytest.raises(bp.Unreachable, match="no Redis at"):
                call(new_job())
        own_redis.start()
        for call, job_id in zip(sides, before, strict=True):
            assert call(c.ReadJob(job_id)).id == job_id
            call(new_job())
        assert len(store.call(c.ListJobs())) == 4
        runner.run(store.aclose())


def test_forgotten_scripts_are_sent_again(own_redis: RedisServer, server: redis.Redis) -> None:
    store = open_store(own_redis.url)
    command = c.Save("run", new_checkpoint(thread="run"))
    for _ in range(2):
        store.call(command)
        server.script_flush()
    store.close()


def test_each_operation_is_one_round_trip(own_redis: RedisServer, server: redis.Redis) -> None:
    store = open_store(own_redis.url)
    store.call(new_job())
    counted: Any = server.info("commandstats")
    evals = counted["cmdstat_evalsha"]["calls"]
    for _ in range(5):
        store.call(new_job())
    after: Any = server.info("commandstats")
    assert after["cmdstat_evalsha"]["calls"] - evals == 5
    assert after.get("cmdstat_eval", {}).get("calls", 0) == counted.get("cmdstat_eval", {}).get("calls", 0)
    store.close()


def test_only_idempotency_records_and_presence_expire(own_redis: RedisServer, server: redis.Redis) -> None:
    """A delivery, a checkpoint or a journal that expires by itself would be lost without a word."""
    store = open_store(own_redis.url)
    job_id = store.call(new_job(key="k")).id
    store.call(c.Save("run", new_checkpoint(thread="run", ttl=5000)))
    store.call(c.Reap(worker="w", queues=("q",), presence=5000))
    store.call(c.Cancel(job_id))
    expiring = {key.decode().split(":")[3] for key in server.scan_iter() if server.pttl(key) >= 0}
    assert expiring == {"i", "p"}
    store.close()


def test_reads_fall_back_over_more_expired_checkpoints_than_a_script_looks_at(redis_server: str) -> None:
    harness = RedisHarness(redis_server)
    with Bench(harness, side="sync") as bench:
        kept = bench.save(None, thread="run")
        for _ in range(600):
            bench.save(None, thread="run", ttl=1)
        bench.clock.advance(1)
        found = bench.tip("run")
    harness.close()
    assert found == kept


def test_a_binary_is_at_hand() -> None:
    assert find_binary() in binaries()
    assert all(version_of(binary) >= (6, 2) for binary in binaries())
