"""Redis over TLS: rediss:// with an authority of one's own, and a certificate of the client's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.redis.shared_connection import SharedConnection
from batonpass.coordinator.urls import open_store
from tests.capabilities import note
from tests.harness.bench import new_job
from tests.harness.redis import tls_binary
from tests.harness.tls import TlsServer

Start = Callable[[bool], TlsServer]
pytestmark = [
    pytest.mark.capability("redis-tls"),
    pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand"),
]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[TlsServer] = []

    def begin(certified: bool) -> TlsServer:
        server = TlsServer(tmp_path, certified=certified)
        started.append(server)
        server.start()
        note("redis-tls")
        return server

    yield begin
    for server in started:
        server.close()


def test_both_sides_and_a_wait(start: Start) -> None:
    server = start(False)
    store = open_store(server.verified_url)
    store.open()
    assert store.url == f"rediss://127.0.0.1:{server.port}/0"
    command = new_job()
    assert store.call(command).id == command.job_id

    async def main() -> None:
        assert (await store.acall(command)).id == command.job_id
        async with bp.connect(server.verified_url) as coordinator:
            assert coordinator.url == store.url
            with pytest.raises(bp.ResultTimeout):
                await coordinator.job(command.job_id).result(timeout=0.05)
        await store.aclose()

    asyncio.run(main())


def test_hanging_up_leaves_the_loop_nothing_to_complain_of(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start(False)
    complaints: list[dict[str, Any]] = []
    hear_of_the_loss = SharedConnection.connection_lost

    async def main() -> None:
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))

        def lost(connection: SharedConnection, error: Exception | None) -> None:
            gone.set()
            hear_of_the_loss(connection, error)

        monkeypatch.setattr(SharedConnection, "connection_lost", lost)
        async with bp.connect(server.verified_url) as coordinator:
            await coordinator.jobs()
        await gone.wait()

    asyncio.run(main())
    assert complaints == []


def test_a_server_that_can_not_be_verified(start: Start) -> None:
    server = start(False)
    with pytest.raises(bp.BadSetup, match=r"certificate that can't be verified \(\?ssl_ca_certs=FILE\)"):
        bp.connect(server.plain_url).open()


def test_a_client_without_a_certificate_is_refused(start: Start) -> None:
    server = start(True)
    bp.connect(server.url).open().store.close()
    with pytest.raises(bp.BatonpassError, match="ssl_certfile"):
        bp.connect(server.verified_url).open()
