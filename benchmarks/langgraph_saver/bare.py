"""Bare: InMemorySaver that also writes 1 KB with each put and waits for it: what any saver that keeps things adds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from threading import Lock
from typing import Any

import redis
import redis.asyncio
from anyio import to_thread
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

_DATA = b"x" * 1024


class BareRedis(InMemorySaver):
    """Sets a key."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__()
        self._key = key
        self._async: Any = redis.asyncio.Redis.from_url(url)
        self._client = redis.Redis.from_url(url)

    def put(self, *given: Any, **named: Any) -> RunnableConfig:
        self._client.set(self._key, _DATA)
        return super().put(*given, **named)

    async def aput(self, *given: Any, **named: Any) -> RunnableConfig:
        await self._async.set(self._key, _DATA)
        return InMemorySaver.put(self, *given, **named)

    def close(self) -> None:
        """Close the connection of sync code."""
        self._client.close()

    async def aclose(self) -> None:
        """Close both connections."""
        self.close()
        await self._async.aclose()


class BareSqlite(InMemorySaver):
    """Inserts a row, in WAL mode with synchronous=FULL."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._lock = Lock()
        for line in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE bare (data BLOB)"):
            self._db.execute(line)

    def put(self, *given: Any, **named: Any) -> RunnableConfig:
        self._insert()
        return super().put(*given, **named)

    async def aput(self, *given: Any, **named: Any) -> RunnableConfig:
        await to_thread.run_sync(self._insert)
        return InMemorySaver.put(self, *given, **named)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    async def aclose(self) -> None:
        """Close the file."""
        self.close()

    def _insert(self) -> None:
        with self._lock:  # a connection is one thread's at a time: Python 3.13 insists on it
            self._db.execute("INSERT INTO bare VALUES (?)", (_DATA,))
