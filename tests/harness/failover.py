"""A Redis master, a replica of it, and a Sentinel that makes the replica master when the master is gone."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from tests.capabilities import note
from tests.harness.redis import RedisServer, find_binary, version_of
from tests.harness.waiting import wait_until

SERVICE = "desk"
# The replica reads from the master as a user of its own, which can be locked out: the replica lags then.
_READER, _PASSWORD = "reader", "follow"


class SentinelServer(RedisServer):
    """A Sentinel that watches a master alone. It rewrites its file."""

    def __init__(self, folder: Path, master: RedisServer) -> None:
        super().__init__(folder)
        file = folder / "sentinel.conf"
        lines = [
            f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 1",
            f"sentinel down-after-milliseconds {SERVICE} 400",
            f"sentinel failover-timeout {SERVICE} 3000",
        ]
        file.write_text("\n".join(lines) + "\n")
        self._file = file

    def _arguments(self) -> Sequence[str]:
        where = ("--port", str(self.port), "--bind", "127.0.0.1", "--logfile", str(self._folder / "redis.log"))
        return (str(self._file), "--sentinel", *where)


class Failover:
    """The three, started; the replica follows."""

    def __init__(self, folder: Path) -> None:
        places = [folder / name for name in ("master", "replica", "sentinel")]
        for place in places:
            place.mkdir()
        self.master = RedisServer(places[0], "--repl-diskless-sync-delay", "0")
        self.replica = RedisServer(places[1])
        self.sentinel = SentinelServer(places[2], self.master)
        self.url = f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{SERVICE}"

    def start(self) -> None:
        self.master.start()
        self.replica.start()
        with self.master.client() as master:
            master.execute_command("ACL SETUSER", _READER, "on", f">{_PASSWORD}", "+psync", "+replconf", "+ping")
        self.attach(self.replica)
        wait_until(self.follows, what="the replica does not follow")
        self.settle()
        self.sentinel.start()
        with self.sentinel.client() as sentinel:
            wait_until(lambda: sentinel.sentinel_slaves(SERVICE), what="the Sentinel does not see the replica")

    def attach(self, server: RedisServer) -> None:
        """Have a server become a replica of the master, soon."""
        with server.client() as replica:
            replica.config_set("masteruser", _READER)
            replica.config_set("masterauth", _PASSWORD)
            replica.replicaof("127.0.0.1", self.master.port)

    def follows(self) -> bool:
        """Whether the replica is connected to the master."""
        return self._replication().get("master_link_status") == "up"

    def settle(self) -> None:
        """Return when the replica has what the master has. (WAIT only waits for what its own connection wrote.)"""
        with self.master.client() as master:
            master.set("settled", "")
            master.delete("settled")
            # Valkey streams to a new replica only after that has announced itself, a second later.
            wait_until(lambda: master.wait(1, 100) == 1, what="the replica does not get what the master has")

    def _replication(self) -> dict[str, Any]:
        """What the replica says about itself. Empty while a Sentinel promotes it, because that ends all connections."""
        try:
            with self.replica.client() as replica:
                info: Any = replica.info("replication")
        except redis.ConnectionError:
            return {}
        found: dict[str, Any] = info
        return found

    def cut(self) -> None:
        """From now on the replica gets nothing; the master does not mind."""
        with self.master.client() as master:
            master.execute_command("ACL SETUSER", _READER, "off")
            master.execute_command("CLIENT KILL TYPE replica")
        wait_until(lambda: not self.follows(), what="the replica still follows")

    def mend(self) -> None:
        """Let the replica follow again, and wait until it does."""
        with self.master.client() as master:
            master.execute_command("ACL SETUSER", _READER, "on")
        wait_until(self.follows, what="the replica does not follow again")

    def promoted(self) -> bool:
        """Whether the replica is the master now."""
        return self._replication().get("role") == "master"

    def kill_master(self) -> None:
        """SIGKILL; the replica is master when this returns."""
        self.master.kill()
        wait_until(self.promoted, what="the Sentinel did not promote the replica")

    def close(self) -> None:
        for server in (self.sentinel, self.replica, self.master):
            server.close()


@contextmanager
def failover(folder: Path) -> Iterator[Failover]:
    """The three, for a test."""
    trio = Failover(folder)
    try:
        trio.start()
        note("redis-sentinel", ".".join(map(str, version_of(find_binary()))))
        yield trio
    finally:
        trio.close()


@contextmanager
def frozen(server: RedisServer) -> Iterator[None]:
    """A server that stands still (SIGSTOP) while the block runs."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)
