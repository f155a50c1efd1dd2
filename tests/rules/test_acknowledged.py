"""Rule 1: what the store acknowledged is there, whatever was killed right after."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import new_job
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

ROOT = Path(__file__).parents[2]
KILLS = 2
ENOUGH = 100


@contextmanager
def writing(url: str, log: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A writer process that has had `ENOUGH` writes acknowledged."""
    known = len(acknowledged(log))
    command = [sys.executable, "-m", "tests.rules.writer", url, str(log), name]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: len(acknowledged(log)) >= known + ENOUGH or process.poll() is not None)
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        yield process
    finally:
        process.kill()
        process.communicate()


def acknowledged(log: Path) -> list[tuple[str, str, int]]:
    """What the writers noted: operation, id, number. A note that the kill cut off does not count."""
    if not log.exists():
        return []
    text = log.read_text()
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    return [(operation, id_, int(number)) for operation, id_, number in lines]


def check(store: Store, log: Path) -> None:
    """Every acknowledged write is there, and nothing is there by half."""
    for operation, id_, number in acknowledged(log):
        if operation == "save":
            assert open_checkpoint(store.call(c.Restore(id_))).state == number
            continue
        row = store.call(c.ReadJob(id_))
        if operation == "submit":
            agent = row.agent.partition("-")[0]
            assert store.call(new_job(f"{agent}-write", key=f"{agent}-{number}")).id == id_
        if operation == "hand_off":
            assert row.hop == 1
        if operation == "complete":
            assert (row.state, row.result) == ("completed", b"%d" % number)
    for row in store.call(c.ListJobs(10_000)):
        line = store.call(c.Timeline(row.thread))
        assert (line[0].id if line else "") == row.tip
        assert len(line) == 2 or row.hop == 0
        found = [open_checkpoint(store.call(c.Restore(item.id))).step_index for item in reversed(line)]
        assert found == list(range(len(line)))


@pytest.mark.each_store
@pytest.mark.timeout(240)
def test_writers_are_killed(store_url: str, tmp_path: Path) -> None:
    log = tmp_path / "acknowledged.log"
    store = open_store(store_url)
    store.open()
    for kill in range(KILLS):
        with writing(store_url, log, f"w{kill}") as process:
            process.send_signal(signal.SIGKILL)
        check(store, log)
    store.close()


@pytest.mark.timeout(240)
def test_the_redis_server_is_killed(own_redis: RedisServer, tmp_path: Path) -> None:
    log = tmp_path / "acknowledged.log"
    for kill in range(KILLS):
        with writing(own_redis.url, log, f"w{kill}"):
            own_redis.kill()
        own_redis.start()
        store = open_store(own_redis.url)
        store.open()
        check(store, log)
        store.close()
