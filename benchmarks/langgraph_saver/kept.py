"""Kept: the bytes that stores hold, and what a call sends."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable
from contextlib import closing
from pathlib import Path
from typing import Any

import redis

import batonpass as bp


def in_file(path: Path) -> int:
    """An SQLite file after a checkpoint of its log, without its event table."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [events] = db.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'event%'").fetchone()
    return os.path.getsize(path) - int(events or 0)


def in_redis(url: str, namespace: str) -> int:
    """What the keys of a namespace take of Redis' memory, events apart."""
    with bp.connect(url, namespace=namespace) as coordinator:
        prefix = getattr(coordinator.store, "prefix").encode()  # noqa: B009  # of a Redis store only
    with closing(redis.Redis.from_url(url)) as client:
        keys = [key for key in client.scan_iter(count=1000) if key.startswith(prefix)]
        sizes: Any = [client.memory_usage(key, samples=0) for key in keys if not key.endswith(b":events")]
        return sum(sizes)


class Wire:
    """What a Redis server receives. Nobody else may talk to it meanwhile."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)
        self._received()
        before = self._received()
        self._own = self._received() - before

    async def sent(self, call: Awaitable[object]) -> int:
        """The bytes that a call sends."""
        before = self._received()
        await call
        return self._received() - before - self._own

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _received(self) -> int:
        found: Any = self._client.info("stats")
        return int(found["total_net_input_bytes"])
