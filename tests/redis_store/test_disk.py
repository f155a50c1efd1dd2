"""A server whose disk is full: what is refused is refused whole, and what was acknowledged is there afterwards."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.safety import UnsafeStore
from batonpass.coordinator.urls import open_store
from tests.harness.bench import Bench, new_job
from tests.harness.redis import RedisServer
from tests.harness.stores import RedisHarness, dumps
from tests.harness.waiting import wait_until
from tests.rules.scenes import SCENES

linux = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process's files")


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """With `everysec`, because a server that has to sync before it answers ends when its disk is full."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    server.start()
    yield server
    server.close()


@linux
@pytest.mark.capability("redis-disk-full")
def test_a_full_disk(own_redis: RedisServer) -> None:
    harnesses = {name: RedisHarness(own_redis.url) for name in SCENES}  # each looks at its own keys alone
    with own_redis.client() as server:
        benches = {name: Bench(harness, side="sync") for name, harness in harnesses.items()}
        commands = {name: scene(benches[name]) for name, scene in SCENES.items()}
        own_redis.limit_files(1)
        server.set("bp:test", "to be kept")
        wait_until(lambda: info(server)["aof_last_write_status"] == "err", what="the disk is not full")
        before = dumps(server, harnesses)
        for name, bench in benches.items():
            with pytest.raises(bp.Overloaded, match="can't write to its disk: nothing was written"):
                bench.do(commands[name])
        assert dumps(server, harnesses) == before
        assert benches["cancel"].do(c.ListJobs())
        with pytest.raises(bp.Overloaded, match="can't write to its disk"):
            bp.connect(own_redis.url, namespace="new").open()
        with pytest.warns(UnsafeStore, match="can't write its append-only file"):
            bp.connect(own_redis.url, namespace=f"{harnesses['cancel'].own}default").open()
        own_redis.limit_files(-1)
        wait_until(lambda: info(server)["aof_last_write_status"] == "ok", what="the disk is full for ever")
        for name, bench in benches.items():
            bench.do(commands[name])
        kept = dumps(server, harnesses)
        assert [name for name in kept if kept[name] == before[name]] == []
        wait_until(lambda: info(server)["aof_buffer_length"] == 0)
        own_redis.kill()
        own_redis.start()
        assert dumps(server, harnesses) == kept
        for bench in benches.values():
            bench.close()
    for harness in harnesses.values():
        harness.close()


def test_a_snapshot_that_fails(tmp_path: Path) -> None:
    """A server that keeps snapshots refuses writes when it can't make one."""
    folder = tmp_path / "gone"
    folder.mkdir()
    server = RedisServer(folder, "--appendonly", "no", "--save", "3600", "1")
    server.start()
    with pytest.warns(UnsafeStore, match="no append-only file"):
        coordinator = bp.connect(server.url).open()
    with server.client() as client:
        shutil.rmtree(folder)
        client.bgsave()
        wait_until(lambda: info(client)["rdb_last_bgsave_status"] == "err")
        with pytest.raises(bp.Overloaded, match="can't write to its disk: nothing was written, free some"):
            coordinator.save(thread="t", agent="a", state=1)
        assert coordinator.timeline(thread="t") == []
        client.config_set("stop-writes-on-bgsave-error", "no")
        coordinator.save(thread="t", agent="a", state=1)
    coordinator.store.close()
    server.close()


def info(client: redis.Redis) -> Any:
    """What the server says of its files."""
    return client.info("persistence")


def test_a_server_that_is_busy_or_loading(own_redis: RedisServer) -> None:
    store = open_store(own_redis.url)
    store.call(new_job())
    with own_redis.client() as server:
        server.replicaof("127.0.0.1", 1)
    with pytest.raises(bp.Overloaded, match=r"can't write now: it is a replica: .* address of its master"):
        store.call(new_job())
    store.close()


def test_a_server_that_lacks_the_replicas_it_asks_for(own_redis: RedisServer) -> None:
    store = open_store(own_redis.url)
    with own_redis.client() as server:
        server.config_set("min-replicas-to-write", 1)
    with pytest.raises(bp.Overloaded, match="nothing was written, it has fewer replicas than its min-"):
        store.call(new_job())
    store.close()
