"""Certificates are renewed under the same names of files, as whatever issues short-lived ones does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.capabilities import note
from tests.harness.bench import new_job
from tests.harness.cluster import SLOTS
from tests.harness.redis import RedisServer, tls_binary
from tests.harness.tls import TlsSentinel, TlsServer
from tests.harness.waiting import wait_until

pytestmark = [
    pytest.mark.capability("redis-tls"),
    pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand"),
]


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[tuple[TlsServer, list[RedisServer], str]]:
    """A server, all that are to be started again with other certificates, and a store's URL."""
    options = ("--cluster-enabled", "yes", "--tls-cluster", "yes") if kind == "cluster" else ()
    server = TlsServer(folder, *options, certified=True)
    servers: list[RedisServer] = [server]
    url = server.url
    if kind == "sentinel":
        (folder / "sentinel").mkdir()
        sentinel = TlsSentinel(folder / "sentinel", server)
        servers.append(sentinel)
        url = f"{sentinel.service_url}?{server.certificates.query}"
    try:
        for each in servers:
            each.start()
        if kind == "cluster":
            url = url.replace("rediss:", "rediss+cluster:")
            with server.client() as admin:
                admin.execute_command("CLUSTER ADDSLOTS", *range(SLOTS))
                wait_until(lambda: admin.execute_command("CLUSTER INFO")["cluster_state"] == "ok", what="no cluster")
        note("redis-tls")
        yield server, servers, url
    finally:
        for each in servers:
            each.close()


async def _works(store: Store) -> bool:
    try:
        await store.acall(c.ListJobs())
        return bool(store.call(c.ListJobs()))
    except bp.Unavailable:
        return False


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
async def test_new_connections_use_the_new_ones(tmp_path: Path, kind: str) -> None:
    with serving(kind, tmp_path) as (server, servers, url):
        store = open_store(url)
        store.open()
        await store.acall(new_job())
        assert await _works(store)
        server.certificates.renew()
        for each in servers:
            each.kill()
            each.start()
        with anyio.fail_after(20):
            while not await _works(store):
                await anyio.sleep(0.1)
        await store.aclose()


async def test_the_key_is_renewed_after_its_certificate(tmp_path: Path) -> None:
    """Between the two, no connection can be made. Then they can, by the same clients."""
    with serving("server", tmp_path) as (server, _, url):
        key = server.certificates.key
        old, store = key.read_text(), open_store(url)
        store.open()
        await store.acall(new_job())
        server.certificates.renew()
        server.kill()
        server.start()
        new = key.read_text()
        key.write_text(old)
        assert not await _works(store)
        key.write_text(new)
        assert await _works(store)
        await store.aclose()
