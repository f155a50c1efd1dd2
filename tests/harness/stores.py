"""The stores under test. Each says how it is opened, how its clock is set, and what it keeps; nothing else differs."""

from __future__ import annotations

import copy
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import redis

from batonpass.coordinator.memory.store import MemoryStore
from batonpass.coordinator.redis.scripts import Script
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Store
from tests.harness.clock import Clock
from tests.harness.files import new_file
from tests.harness.scripts import with_clock


class Harness(Protocol):
    """A kind of store. `shared`: several processes can use what it keeps."""

    shared: bool
    clock: Clock

    def store(self, namespace: str = "default") -> Store:
        """A handle, not yet opened."""
        ...

    def dump(self) -> Mapping[str, object]:
        """Everything that is kept, comparable: equal dumps mean that nothing changed."""
        ...

    def tampered(self, checkpoint: str, part: str, change: Callable[[bytes], bytes]) -> AbstractContextManager[None]:
        """While it lasts a stored checkpoint's "header", "state", "native" or "commit" is changed behind the store."""
        ...

    def logs(self) -> dict[str, bytes]:
        """What logs are stored of, by names of this harness's own."""
        ...

    def put_log(self, name: str, data: bytes) -> None:
        """Change what a log is stored of, behind the store."""
        ...


class MemoryHarness:
    """Dicts. A namespace is a store object of its own."""

    shared = False

    def __init__(self) -> None:
        self.clock = Clock()
        self._stores: dict[str, MemoryStore] = {}

    def store(self, namespace: str = "default") -> MemoryStore:
        return self._stores.setdefault(namespace, MemoryStore(clock=self.clock))

    def dump(self) -> Mapping[str, object]:
        kept = {
            f"{namespace} {name}": copy.deepcopy(value)
            for namespace, store in self._stores.items()
            for name, value in vars(store._records).items()
        }
        return {name: value for name, value in kept.items() if not name.endswith(" now")}

    @contextmanager
    def tampered(self, checkpoint: str, part: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
        [rows] = [s._records._checkpoints for s in self._stores.values() if checkpoint in s._records._checkpoints]
        whole = rows[checkpoint]
        changed: Any = change(whole.commit.encode() if part == "commit" else getattr(whole, part))
        rows[checkpoint] = replace(whole, **{part: changed.decode("utf-8", "replace") if part == "commit" else changed})
        yield
        rows[checkpoint] = whole

    def logs(self) -> dict[str, bytes]:
        return {log: bytes(data) for store in self._stores.values() for log, data in store._records._logs.items()}

    def put_log(self, name: str, data: bytes) -> None:
        [logs] = [store._records._logs for store in self._stores.values() if name in store._records._logs]
        logs[name] = bytearray(data)


class SqliteHarness:
    """One file, looked into with a connection of our own."""

    shared = True

    def __init__(self, path: Path) -> None:
        self.clock = Clock()
        self.path = path

    def store(self, namespace: str = "default") -> SqliteStore:
        return SqliteStore(str(new_file(self.path)), namespace, clock=self.clock)

    def dump(self) -> Mapping[str, object]:
        with closing(sqlite3.connect(self.path)) as db:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {table: list(db.execute(f"SELECT * FROM {table}")) for table in tables if table != "sqlite_sequence"}

    @contextmanager
    def tampered(self, checkpoint: str, part: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
        column = "commit_line" if part == "commit" else part
        read = f"SELECT CAST({column} AS BLOB) FROM checkpoint WHERE id = ?"
        write = f"UPDATE checkpoint SET {column} = ? WHERE id = ?"
        with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            [whole] = db.execute(read, (checkpoint,)).fetchone()
            db.execute(write, (change(whole), checkpoint))
            yield
            db.execute(write, (whole, checkpoint))

    def logs(self) -> dict[str, bytes]:
        with closing(sqlite3.connect(self.path)) as db:
            return {str(place): data for place, data in db.execute("SELECT place, data FROM piece")}

    def put_log(self, name: str, data: bytes) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.execute("UPDATE piece SET data = ? WHERE place = ?", (data, int(name)))


class RedisHarness:
    """A server that other tests use too: namespaces get a prefix of this harness's own."""

    shared = True

    def __init__(self, url: str, scripts: Callable[[str], Script] = with_clock) -> None:
        self.clock = Clock()
        self.clock.moved = self._pass_time
        self._url = url
        self.own = f"t{secrets.token_hex(6)}-"
        self._prefixes: set[str] = set()
        self.scripts = scripts
        self.server = redis.Redis.from_url(url)

    def store(self, namespace: str = "default") -> RedisStore:
        made = RedisStore(self._url, self.own + namespace, scripts=self.scripts)
        self._prefixes.add(made.prefix)
        self.server.set(f"{made.prefix}clock", self.clock.now)
        return made

    def prefix_with(self, name: str) -> str:
        """The prefix under which a key of that name is."""
        [found] = [prefix for prefix in self._prefixes if self.server.exists(f"{prefix}{name}")]
        return found

    def keys(self) -> Iterator[str]:
        """All keys that the store made."""
        return keys_of(self.server, self.own)

    def _pass_time(self, milliseconds: int) -> None:
        keys = list(self.keys())
        with self.server.pipeline(transaction=False) as pipe:
            for prefix in self._prefixes:
                pipe.set(f"{prefix}clock", self.clock.now)
            for key in keys:
                pipe.pttl(key)
            left: list[Any] = pipe.execute()[len(self._prefixes) :]
            for key, lives in zip(keys, left, strict=True):
                if lives >= 0:
                    pipe.pexpire(key, lives - milliseconds)
            pipe.execute()

    def dump(self) -> Mapping[str, object]:
        return contents(self.server, list(self.keys()))

    @contextmanager
    def tampered(self, checkpoint: str, part: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
        key = f"{self.prefix_with(f'c:{checkpoint}')}c:{checkpoint}"
        whole: Any = self.server.get(key)
        if part == "commit":
            thread_key = key.replace(f"}}:c:{checkpoint}", f"}}:t:{whole[:32].decode()}")
            commit: Any = self.server.hget(thread_key, checkpoint)
            self.server.hset(thread_key, checkpoint, change(commit))
            yield
            self.server.hset(thread_key, checkpoint, commit)
            return
        self.server.set(key, change_record(part, whole, change))
        yield
        self.server.set(key, whole)

    def logs(self) -> dict[str, bytes]:
        found: dict[str, Any] = {key: self.server.get(key) for key in self.keys() if "}:l:" in key}
        return found

    def put_log(self, name: str, data: bytes) -> None:
        self.server.set(name, data)

    def clear(self) -> None:
        """Remove what was kept."""
        if keys := list(self.server.scan_iter(match=f"bp:{{{self.own}*", count=1000)):
            self.server.delete(*keys)

    def close(self) -> None:
        """Remove what was kept, and let go of the server."""
        self.clear()
        self.server.close()


def keys_of(server: Any, own: str) -> Iterator[str]:
    """All keys that stores of a harness made, or with "" of any harness."""
    for key in server.scan_iter(match=f"bp:{{{own}*", count=1000):
        name = key.decode()
        if not name.endswith((":clock", ":log")):
            yield name


def dumps(server: Any, harnesses: Mapping[str, RedisHarness]) -> dict[str, dict[str, object]]:
    """What each of many harnesses of one server keeps. (For itself, each would look through the keys of all.)"""
    names = {harness.own: name for name, harness in harnesses.items()}
    found: dict[str, dict[str, object]] = {name: {} for name in harnesses}
    for key, value in contents(server, list(keys_of(server, ""))).items():
        if owner := names.get(key.partition("{")[2].partition("-")[0] + "-"):
            found[owner][key] = value
    return found


def change_record(part: str, whole: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A record is the thread's digest, two lengths, and header, state and native part."""
    state = 50 + int(whole[32:40])
    native = state + int(whole[40:50])
    parts = {"header": whole[50:state], "state": whole[state:native], "native": whole[native:]}
    parts[part] = change(parts[part])
    lengths = b"%08d%010d" % (len(parts["header"]), len(parts["state"]))
    return whole[:32] + lengths + b"".join(parts.values())


# Not DUMP: the order of a hash's fields is the server's own affair.
_READ: dict[bytes, Callable[[Any, str], object]] = {
    b"hash": lambda pipe, key: pipe.hgetall(key),
    b"list": lambda pipe, key: pipe.lrange(key, 0, -1),
    b"stream": lambda pipe, key: pipe.xrange(key),
    b"string": lambda pipe, key: pipe.get(key),
    b"zset": lambda pipe, key: pipe.zrange(key, 0, -1, withscores=True),
}


def contents(server: Any, keys: Sequence[str]) -> dict[str, object]:
    """What a server has under keys."""
    with server.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.type(key)
        for key, kind in zip(keys, pipe.execute(), strict=True):
            _READ[kind](pipe, key)
        return dict(zip(keys, pipe.execute(), strict=True))
