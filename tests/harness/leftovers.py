"""Leftovers: what a store keeps of jobs that nobody needs any more. Every key has an owner, and goes with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import redis

from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.urls import open_store
from tests.harness.keyspace import Keyspace

# What stays when every job is pruned, on Redis (beside what expires by itself) and on SQLite.
_STAY = {"schema", "epoch", "rewound", "agents", "events"}
_TABLES = {"agent", "event", "event_trim", "presence", "sqlite_sequence", "namespace"}


def unowned(url: str) -> list[str]:
    """What is not as it must be while ended jobs are still kept; above all keys that nothing would ever remove."""
    return _keyspace(url).problems() if url.startswith("redis:") else []


def leftovers(url: str) -> list[str]:
    """What is left of jobs when all of them have been pruned."""
    return _keys(_keyspace(url)) if url.startswith("redis:") else _rows(url.removeprefix("sqlite:///"))


def _keyspace(url: str) -> Keyspace:
    store = open_store(url)
    assert isinstance(store, RedisStore)
    with redis.Redis.from_url(url.partition("?")[0]) as server:
        return Keyspace(server, store.prefix)


def _keys(found: Keyspace) -> list[str]:
    """A queue's stream is one for each agent and contract, and empty."""
    names = found.keys.keys() - found.expiring - _STAY
    return sorted(f"{name} is left" for name in names if not (name.startswith(("q:", "w:")) and not found.of("j")))


def _rows(path: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} - _TABLES
        counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in sorted(tables)}
    return [f"{count} rows are left in {table}" for table, count in counts.items() if count]
