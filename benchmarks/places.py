"""Places: where things are kept while they are measured."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.utils import HIREDIS_AVAILABLE

from tests.harness.redis import RedisServer

# Rewriting the append-only file in the middle of a run would slow whichever side is just being timed.
_OPTIONS = ("--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0")


@dataclass(frozen=True)
class Places:
    """A Redis server, and a folder for SQLite files. `mark` tells this run's keys from others'."""

    redis_url: str
    folder: Path
    mark: str

    def namespace(self) -> str:
        """A new namespace on the server."""
        return f"{self.mark}-{secrets.token_hex(4)}"

    def sqlite_file(self, name: str) -> Path:
        """A new file."""
        return self.folder / f"{name}-{secrets.token_hex(4)}.db"

    def about(self) -> str:
        """What was measured on, in a line."""
        with redis.Redis.from_url(self.redis_url) as client:
            version = client.info("server")["redis_version"]
            fsync = client.config_get("append*")
        aof = f"appendfsync {fsync['appendfsync']}" if fsync["appendonly"] == "yes" else "no AOF"
        parser = "hiredis" if HIREDIS_AVAILABLE else "Python parser"
        return f"Redis {version} ({aof}), redis-py {redis.__version__} ({parser}), {os.cpu_count()} cores"


@contextmanager
def places() -> Iterator[Places]:
    """A server of this run's own, unless BATONPASS_TEST_REDIS_URL names one; everything is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="batonpass-benchmarks-") as name:
        folder, mark = Path(name), f"bench-{secrets.token_hex(4)}"
        if url := os.environ.get("BATONPASS_TEST_REDIS_URL"):
            try:
                yield Places(url, folder, mark)
            finally:
                _remove_keys(url, mark)
            return
        server = RedisServer(folder, *_OPTIONS)
        server.start()
        try:
            yield Places(server.url, folder, mark)
        finally:
            server.close()


def _remove_keys(url: str, mark: str) -> None:
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter(match=f"*{mark}*", count=1000):
            client.delete(key)
