"""Saving a state of 4 KB: each step of an agent costs one of these."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from anyio import run, to_thread

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator.snapshots import draft
from benchmarks.agents import start
from benchmarks.holding import held
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.states import states
from benchmarks.timing import Effort, acompare, compare

_REDIS_BAR, _SQLITE_BAR = 1.5, 2.5
_STATES: list[dict[str, Any]] = states()


def state_of(number: int) -> dict[str, Any]:
    """What is saved in call `number`."""
    return _STATES[number % len(_STATES)]


def _stored(number: int) -> bytes:
    """The bytes that a save keeps."""
    new = draft(Snapshot(step="step", state=state_of(number)), thread="run-001", agent="start").new
    return new.header + new.state


_STORED = [_stored(number) for number in range(len(_STATES))]


def bytes_of(number: int) -> bytes:
    """... and the bytes that are kept of it."""
    return _STORED[number % len(_STORED)]


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside a raw SET of the same bytes, each to a new key, as each save is a new checkpoint."""
    return [*_sync_redis(places, effort), *run(_async_redis, places, effort)]


def _sync_redis(places: Places, effort: Effort) -> list[Result]:
    url = places.redis_url
    with bp.connect(url, namespace=places.namespace()) as coordinator, redis.Redis.from_url(url) as client:
        session, _ = held(coordinator.store, start)

        def floor(number: int) -> None:
            client.set(f"{places.mark}:{number}", bytes_of(number))

        leased = compare(effort, lambda n: session.save(Snapshot(step="step", state=state_of(n))), floor)
        free = compare(effort, partial(_save, coordinator), floor)
    return [
        Result.compared("save under a lease, Redis, sync / SET", leased, bar=_REDIS_BAR),
        Result.compared("save without a job, Redis, sync / SET", free, bar=_REDIS_BAR),
    ]


async def _async_redis(places: Places, effort: Effort) -> list[Result]:
    url = places.redis_url
    async with (
        bp.connect(url, namespace=places.namespace()) as coordinator,
        redis.asyncio.Redis.from_url(url) as client,
    ):
        session, _ = held(coordinator.store, start)

        async def floor(number: int) -> None:
            await client.set(f"{places.mark}:{number}", bytes_of(number))

        async def save(number: int) -> None:
            await coordinator.save(thread="run-002", agent="start", state=state_of(number), step="step")

        leased = await acompare(effort, lambda n: session.asave(Snapshot(step="step", state=state_of(n))), floor)
        free = await acompare(effort, save, floor)
    return [
        Result.compared("save under a lease, Redis, async / SET", leased, bar=_REDIS_BAR),
        Result.compared("save without a job, Redis, async / SET", free, bar=_REDIS_BAR),
    ]


def _save(coordinator: bp.SyncCoordinator, number: int) -> None:
    coordinator.save(thread="run-001", agent="start", state=state_of(number), step="step")


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Beside a transaction of two inserts with the same journal mode and `synchronous`, on the same file system."""
    return [*_sync_sqlite(places, effort), *run(_async_sqlite, places, effort)]


class Bare:
    """The least that keeps a state durably: its bytes, and a line that says so."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS state (number INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        self._db.execute("CREATE TABLE IF NOT EXISTS event (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")

    def close(self) -> None:
        self._db.close()

    def save(self, number: int) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO state (data) VALUES (?)", (bytes_of(number),))
        self._db.execute("INSERT INTO event (text) VALUES (?)", (f"saved {number}",))
        self._db.execute("COMMIT")


def _sync_sqlite(places: Places, effort: Effort) -> list[Result]:
    ours = bp.connect(f"sqlite:///{places.sqlite_file('ours')}")
    with closing(Bare(places.sqlite_file("bare"))) as bare, ours as coordinator:
        session, _ = held(coordinator.store, start)
        leased = compare(effort, lambda n: session.save(Snapshot(step="step", state=state_of(n))), bare.save)
        free = compare(effort, partial(_save, coordinator), bare.save)
    return [
        Result.compared("save under a lease, SQLite, sync / two inserts", leased, bar=_SQLITE_BAR),
        Result.compared("save without a job, SQLite, sync / two inserts", free, bar=_SQLITE_BAR),
    ]


async def _async_sqlite(places: Places, effort: Effort) -> list[Result]:
    with closing(Bare(places.sqlite_file("bare"))) as bare:

        async def floor(number: int) -> None:
            await to_thread.run_sync(bare.save, number)

        async with bp.connect(f"sqlite:///{places.sqlite_file('ours')}") as coordinator:
            session, _ = held(coordinator.store, start)
            leased = await acompare(effort, lambda n: session.asave(Snapshot(step="step", state=state_of(n))), floor)
    return [Result.compared("save under a lease, SQLite, async / two inserts", leased, bar=_SQLITE_BAR)]
