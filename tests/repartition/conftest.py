"""A small namespace to be moved again and again, and moves that are disturbed."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.coordinator.redis.moving.move import Move
from batonpass.coordinator.redis.moving.side import Side
from tests.harness.cluster import Cluster
from tests.harness.stores import RedisHarness

PARTITIONS = 3


class Desk(bp.Contract, name="tests.moved", version=1):
    topic: str


app = bp.App("moved")


@app.agent("write", accepts=Desk, returns=Desk)
def write(desk: Desk) -> Desk:
    return desk


class Killed(BaseException):
    """The mover is gone: nothing of it runs any more."""


@dataclass
class Scene:
    """A namespace on a server, and a new one on a cluster that it is to be moved to."""

    server: Any
    cluster: Any
    source: str
    target: str

    def move(self) -> Move:
        return Move(self.source, self.target)

    @property
    def in_use(self) -> list[str]:
        """Which of the two can be written to."""
        name = self.target.partition("namespace=")[2]
        new = [key.decode() for key in self.cluster.scan_iter(match=f"bp:{{{name}:*", count=1000)]
        has_mark = any(key.endswith("}:moved") for key in new)
        marked = list(self.server.scan_iter(match=f"bp:{{{name.removesuffix('-new')}:*:moved", count=1000))
        return [
            *([] if marked else ["old"]),
            *(["new"] if any("}:schema" in key for key in new) and not has_mark else []),
        ]

    @property
    def arrived(self) -> dict[str, Any]:
        """What lies in the new namespace, by partition and key."""
        name = self.target.partition("namespace=")[2]
        found: dict[str, Any] = {}
        for key in self.cluster.scan_iter(match=f"bp:{{{name}:*", count=1000):
            read = {b"hash": "hgetall", b"list": "lrange", b"stream": "xrange", b"string": "get", b"zset": "zrange"}
            more = (0, -1) if (kind := self.cluster.type(key)) in (b"list", b"zset") else ()
            found[key.decode().partition(":")[2].partition(":")[2]] = getattr(self.cluster, read[kind])(key, *more)
        return {key: value for key, value in found.items() if not key.endswith(":epoch")}


@pytest.fixture
def quiet_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """To it forged leases look like a store that went back in time."""
    monkeypatch.setattr(logging.getLogger("batonpass.store"), "disabled", True)


@pytest.fixture
def server(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


@pytest.fixture(scope="session")
def small(redis_server: str) -> str:
    """A namespace with a bit of most things; it stays as it is."""
    name = f"t{secrets.token_hex(6)}"
    with bp.connect(f"{redis_server}?namespace={name}", app=app) as coordinator:
        jobs = [coordinator.submit(write, Desk(topic=str(n)), key=f"k{n}", thread=f"t{n}") for n in range(4)]
        jobs[0].cancel()
        coordinator.submit(write, Desk(topic="later"), thread="t1", on_busy="queue")
        for n in range(3):
            coordinator.save(thread="talk", agent="write", state={"said": ["x" * 900] * (n + 5)})
        coordinator.copy("talk", to="copy of it")
    return name


@pytest.fixture
def new_scene(small: str, redis_server: str, three_nodes: Cluster) -> Iterator[Callable[[], Scene]]:
    """Makes a copy of the small namespace, and a new one to move it to."""
    server: Any = redis.Redis.from_url(redis_server)
    made = f"t{secrets.token_hex(6)}"
    keys = list(server.scan_iter(match=f"bp:{{{small}:*", count=1000))

    def make() -> Scene:
        name = f"{made}{secrets.token_hex(4)}"
        with server.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.copy(key, key.replace(small.encode(), name.encode()))
            pipe.execute()
        target = f"{three_nodes.url}?partitions={PARTITIONS}&namespace={name}-new"
        return Scene(server, three_nodes.plain, f"{redis_server}?namespace={name}", target)

    yield make
    for client in (server, three_nodes.plain):
        for key in list(client.scan_iter(match=f"bp:{{{made}*", count=1000)):
            client.delete(key)
    server.close()


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Move, int, Callable[[], None]], None]:
    """Runs a move, to which something happens just before it asks its servers for the nth time. (From 1. What happens
    to it doesn't count.)"""
    ask = Side._exchange

    def run(move: Move, at: int, happens: Callable[[], None]) -> None:
        count = 0

        def counted(side: Side, *arguments: Any, **options: Any) -> Any:
            nonlocal count
            if side in (move._source, move._target):
                count += 1
                if count == at:
                    happens()
            return ask(side, *arguments, **options)

        monkeypatch.setattr(Side, "_exchange", counted)
        try:
            move.run()
        finally:
            monkeypatch.setattr(Side, "_exchange", ask)
            move.close()

    return run
