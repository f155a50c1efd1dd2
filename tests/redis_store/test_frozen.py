"""A server that stands still: a call is given up in time, and is safe to repeat.

In these tests, two attempts of 0.3 s take the place of two of 5 s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis import patience
from batonpass.coordinator.redis.cluster import ClusterStore
from batonpass.coordinator.store import Store, Topic
from batonpass.coordinator.urls import open_store
from tests.harness.bench import new_job
from tests.harness.cluster import Cluster
from tests.harness.failover import SERVICE, failover, frozen
from tests.harness.redis import RedisServer, tls_binary
from tests.harness.tls import TlsServer
from tests.harness.waiting import wait_until

Ask = Callable[[c.Command[Any]], Any]
pytestmark = pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
_QUICK = "socket_timeout=0.3&socket_connect_timeout=0.3"
# Two attempts take 0.6 s. If patience had no end, it would be 3 s and more, and minutes on a cluster.
_SECONDS = 2.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WITHIN", 0.6)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


def _given_up(ask: Ask, command: c.Command[Any]) -> None:
    began = time.monotonic()
    with pytest.raises(bp.Unavailable):
        ask(command)
    assert time.monotonic() - began < _SECONDS


def _try(
    store: Store, runner: asyncio.Runner, side: str, *servers: RedisServer, second: c.Submit | None = None
) -> None:
    def ask(command: c.Command[Any]) -> Any:
        return store.call(command) if side == "sync" else runner.run(store.acall(command))

    def accepted(command: c.Submit) -> bool:
        try:
            return bool(ask(command).id == command.job_id)
        except bp.Unavailable:
            return False

    first, second = new_job(), second or new_job()
    wait_until(lambda: accepted(first), what="the server does not answer")  # so quick is not every machine
    with ExitStack() as stopped:
        for server in servers:
            stopped.enter_context(frozen(server))
        for command in (c.ListJobs(), second, second):  # by the connections that there are, then by new ones
            _given_up(ask, command)

    def answers() -> list[Any]:
        try:
            rows: list[Any] = ask(c.ListJobs()) if accepted(second) else []
            return rows
        except bp.Unavailable:
            return []

    rows = wait_until(answers, what="the server does not answer again")
    assert {row.id for row in rows} == {first.job_id, second.job_id}
    runner.run(store.aclose())


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_server(own_redis: RedisServer, runner: asyncio.Runner, side: str) -> None:
    _try(open_store(f"{own_redis.url}?{_QUICK}"), runner, side, own_redis)


@pytest.mark.capability("redis-tls")
@pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand")
def test_a_server_with_tls(tmp_path: Path, runner: asyncio.Runner) -> None:
    server = TlsServer(tmp_path)
    server.start()
    try:
        _try(open_store(f"{server.verified_url}&{_QUICK}"), runner, "async", server)
    finally:
        server.close()


@pytest.mark.capability("redis-tls")
@pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand")
@pytest.mark.parametrize("subject", ["claims", "events", "calls"])
async def test_what_is_closed_waits_for_no_farewell(tmp_path: Path, subject: str) -> None:
    """TLS has one. Cutting short the client library's wait for it raised cancellations that no scope knew, and the
    worker ended with them."""
    server = TlsServer(tmp_path)
    server.start()
    try:
        store = open_store(server.verified_url)
        watch = store.watch(Topic(queues=("a",) if subject == "claims" else (), subject=""))
        await watch.aopen()
        await store.acall(c.ListJobs())
        part: Any = {"claims": watch, "events": store._subscriptions, "calls": store._async}[subject]  # type: ignore[attr-defined]
        client: Any = part._async if subject == "claims" else part.here()._client
        pool = client.connection_pool
        connections = [await pool.get_connection() for _ in range(2)]
        await connections[-1].disconnect()
        for each in connections:
            await pool.release(each)
        with frozen(server):
            began = time.monotonic()
            await part.aclose()
            assert time.monotonic() - began < 1
        await store.aclose()
    finally:
        server.close()


@pytest.mark.capability("redis-sentinel")
def test_a_master_and_its_sentinel(tmp_path: Path, runner: asyncio.Runner) -> None:
    with failover(tmp_path) as trio:
        _try(open_store(f"{trio.url}?{_QUICK}"), runner, "sync", trio.master, trio.sentinel)


@pytest.mark.capability("redis-sentinel")
@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_master_whose_replica_takes_over(tmp_path: Path, runner: asyncio.Runner, side: str) -> None:
    """What the silent one was asked, the new one is asked again, by a new connection."""
    with failover(tmp_path) as trio:
        store = open_store(f"{trio.url}?socket_timeout=1")
        store.open()
        kept = new_job()
        runner.run(store.acall(kept))
        store.call(c.ListJobs())
        trio.settle()
        with frozen(trio.master), trio.sentinel.client() as sentinel:
            asks: Any = sentinel
            master = partial(asks.sentinel_get_master_addr_by_name, SERVICE)
            wait_until(lambda: master()[1] == trio.replica.port, what="the Sentinel did not promote the replica")
            asked = c.ListJobs()
            rows = store.call(asked) if side == "sync" else runner.run(store.acall(asked))
            assert [row.id for row in rows] == [kept.job_id]
        runner.run(store.aclose())


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_node_of_a_cluster(three_nodes: Cluster, runner: asyncio.Runner, side: str) -> None:
    store = open_store(f"{three_nodes.url}?{_QUICK}&namespace=frozen-{side}")
    store.open()
    assert isinstance(store, ClusterStore)
    node = three_nodes.nodes[1]
    jobs = (new_job() for _ in range(1000))
    there = next(job for job in jobs if three_nodes.owner(store.prefix(partition_of(job.job_id) % 16)) is node)
    _try(store, runner, side, node, second=there)


def test_openings_beside_each_other_ask_once_and_change_nothing_for_others(own_redis: RedisServer) -> None:
    """They use the same client as those who have it open."""
    connection = bp.connect(f"{own_redis.url}?{_QUICK}")
    with connection as coordinator, ThreadPoolExecutor(2) as threads:
        client: Any = connection._store._sync  # type: ignore[attr-defined]
        usual, attempts = client.get_retry(), list[str]()
        with frozen(own_redis), pytest.MonkeyPatch.context() as patched:
            patched.setattr(patience.Repeats, "call_with_retry", _counted(attempts))
            opened = [threads.submit(connection._store.open) for _ in range(2)]
            assert all(isinstance(each.exception(10), bp.Unreachable) for each in opened)
        assert len(attempts) <= 4  # each connects and asks
        assert client.get_retry() is usual
        assert coordinator.jobs() == []


def _counted(attempts: list[str]) -> Callable[..., Any]:
    repeating = patience.Repeats.call_with_retry

    def call_with_retry(self: Any, do: Callable[[], Any], *args: Any, **more: Any) -> Any:
        def counted() -> Any:
            attempts.append("asked")
            return do()

        return repeating(self, counted, *args, **more)

    return call_with_retry
