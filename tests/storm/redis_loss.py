"""A storm over a Redis server: killed again and again under load, and started from files that a power loss cut off.

    python -m tests.storm.redis_loss --kills 20 --cuts 200 [--seed 1]

After a kill, nothing that was acknowledged is lost. After a power loss, the newest writes may be lost. Then no
operation is half done, workers that are ahead of the store are fenced, the loss is reported, and every job can still be
ended.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.safety import UnsafeStore
from batonpass.coordinator.store import Store
from tests.harness.bench import fence_of
from tests.harness.keyspace import Keyspace, restorable
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.storm.redis_load import QUEUES, Load, Notes, missing

NAMESPACE = "default"


@dataclass
class Report:
    """What a storm consisted of."""

    kills: int = 0
    acknowledged: int = 0
    cuts: int = 0
    reported: int = 0
    fenced: int = 0
    held: int = 0
    lost: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills of the server: {self.acknowledged} acknowledged writes, none lost; {self.cuts} power "
            f"losses: {self.lost} writes lost, none by half, {self.reported} losses reported, {self.fenced} workers "
            f"ahead of the store fenced, {self.held} leases that it knew held"
        )


def look(server: RedisServer, store: Store) -> None:
    """Everything is as it must be, and every checkpoint can be restored."""
    with server.client() as client:
        found = Keyspace(client, RedisStore(server.url, NAMESPACE).prefix)
    problems = [*found.problems(), *restorable(store, found)]
    assert not problems, problems


def worked(notes: Notes, number: int) -> None:
    """Wait until so many writes have been acknowledged."""
    wait_until(lambda: len(notes.acknowledged) > number or notes.errors, timeout=60, what="the load stands still")
    if notes.errors:
        raise notes.errors[0]


@contextmanager
def running(folder: Path, *options: str) -> Iterator[RedisServer]:
    """A server, started on the files in a folder."""
    server = RedisServer(folder, *options)
    server.start()
    try:
        yield server
    finally:
        server.close()


@contextmanager
def opened(server: RedisServer) -> Iterator[RedisStore]:
    """A handle of the server's store."""
    store = RedisStore(server.url, NAMESPACE)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def loaded(server: RedisServer, seed: int) -> Iterator[Notes]:
    """Threads that work with the server while the block runs."""
    notes = Notes()
    load = Load(server.url, notes, seed=seed)
    load.start()
    try:
        yield notes
    finally:
        load.stop()
    assert not notes.errors, notes.errors


def killed(folder: Path, kills: int, seed: int, report: Report) -> None:
    """Kill the server so often in the middle of the work; what it acknowledged is there each time.

    With `appendfsync everysec` a server holds writes back in memory while an fsync runs, for up to 2 s, and those die
    with it.
    """
    choose = random.Random(seed)
    with running(folder, "--appendfsync", "always") as server, opened(server) as store:
        store.open()
        with loaded(server, seed) as notes:
            for _ in range(kills):
                before = len(notes.acknowledged)
                worked(notes, before + 50)
                time.sleep(choose.uniform(0, 0.1))
                known = len(notes.acknowledged)
                server.kill()
                server.start()
                lost = list(missing(store, notes.acknowledged[before:known]))
                assert not lost, f"{len(lost)} acknowledged writes are lost: {lost[:5]}"
                report.kills += 1
        look(server, store)
        lost = list(missing(store, notes.acknowledged))
        assert not lost, f"{len(lost)} acknowledged writes are lost: {lost[:5]}"
        report.acknowledged += len(notes.acknowledged)


def log_of(folder: Path) -> Path:
    """The append-only file that is written to: since 7.0 there is a folder of them."""
    several = sorted((folder / "appendonlydir").glob("*.incr.aof"))
    return several[-1] if several else folder / "appendonly.aof"


def cut(folder: Path, cuts: int, seed: int, report: Report) -> None:
    """Cut the file of a server that has worked at so many random places, and start from each."""
    choose = random.Random(seed)
    whole, live = folder / "whole", folder / "live"
    whole.mkdir()
    with running(whole) as server, opened(server) as store:
        store.open()
        with loaded(server, seed) as notes:
            worked(notes, 400)
        look(server, store)
        seen: Any = store.call(c.LastEvent())
        with server.client() as client:
            epoch: Any = client.get(f"{store.prefix}epoch")
    for _ in range(cuts):
        shutil.rmtree(live, ignore_errors=True)
        shutil.copytree(whole, live)
        file = log_of(live)
        with file.open("r+b") as written:
            written.truncate(choose.randrange(file.stat().st_size))
        with running(live) as server, opened(server) as store:
            store._dialogue.witness.learn(seen.encode(), epoch)  # what a handle would know that was there before
            _after_a_loss(server, store, notes, report)


def _after_a_loss(server: RedisServer, store: RedisStore, notes: Notes, report: Report) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lost = list(missing(store, notes.acknowledged))
        look(server, store)
        store.call(c.LastEvent())
    report.reported += any(warning.category is UnsafeStore for warning in said)
    report.lost += len(lost)
    report.cuts += 1
    assert said or not lost, f"{len(lost)} writes are lost, and nobody says so"
    for fence in notes.open:
        _goes_on(store, fence, report)
    _end_all(store)
    look(server, store)


def _goes_on(store: RedisStore, fence: c.Fence, report: Report) -> None:
    """A worker whose lease the store knows goes on; one that is ahead of it may not write."""
    try:
        known = store.call(c.ReadJob(fence.job_id))
        holds = (known.token, known.lease) == (fence.token, fence.lease_id)
    except bp.NotFound:
        holds = False
    try:
        store.call(c.Complete(fence, b"result"))
    except (bp.Fenced, bp.NotFound):
        assert not holds, f"{fence} is known, and was refused"
        report.fenced += 1
    else:
        assert holds, f"{fence} is ahead of the store, and was accepted"
        report.held += 1


def _end_all(store: RedisStore) -> None:
    """Every job that is left can be brought to an end."""
    for row in store.call(c.ListJobs(10_000)):
        if row.state == "working":
            store.call(c.Release(row.fence))
        elif row.state == "input_required":
            store.call(c.AnswerJob(row.id, b"yes"))
    deadline = time.monotonic() + 20
    while any(row.state == "submitted" for row in store.call(c.ListJobs(10_000))):
        assert time.monotonic() < deadline, "a job can't be ended"
        store.call(c.Reap())
        for delivery in store.call(c.Claim("w", QUEUES, tuple(mint("l") for _ in range(100)))):
            store.call(c.Complete(fence_of(delivery), b"result"))


def main() -> None:
    """Run a storm; what was lost and not said is an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.redis_loss", description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    logging.getLogger("batonpass.store").setLevel(logging.CRITICAL)  # each loss would be said again here
    report, began = Report(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="batonpass-storm-") as name:
        for part, number in ((killed, asked.kills), (cut, asked.cuts)):
            folder = Path(name) / part.__name__
            folder.mkdir()
            part(folder, number, asked.seed, report)
    sys.stdout.write(f"redis, seed {asked.seed}: {report}; {time.monotonic() - began:.0f} s\n")


if __name__ == "__main__":
    main()
