"""Clients that take for ever to say what they want."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

import batonpass as bp
from batonpass.service import hurried
from batonpass.service.running import Place, serve
from batonpass.service.settings import Settings

WITHIN = 0.3


@asynccontextmanager
async def connected() -> AsyncIterator[SocketStream]:
    """A client of a service."""
    addresses: list[Any] = []
    async with anyio.create_task_group() as tasks:
        ready = anyio.Event()

        def started(_: str, url: str) -> None:
            addresses.append(url)
            ready.set()

        tasks.start_soon(serve, bp.connect("memory://"), Place("127.0.0.1", 0), Settings("a-token"), started)
        await ready.wait()
        with anyio.fail_after(30):
            async with await anyio.connect_tcp("127.0.0.1", int(addresses[0].rpartition(":")[2])) as client:
                yield client
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("begun", [b"", b"GET /jobs HTT", b"GET /jobs HTTP/1.1\r\nHost: x\r\nX-One: 1\r\n"])
@pytest.mark.parametrize("after", [0, 2], ids=["first", "kept alive"])
async def test_headers_must_come_in_time(begun: bytes, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hurried, "HEADERS_WITHIN", WITHIN)
    async with connected() as client:
        answers = BufferedByteReceiveStream(client)
        for _ in range(after):  # what comes in time is answered, even if the connection is older than that
            await client.send(b"GET /nothing HTTP/1.1\r\nHost: x\r\n")
            await anyio.sleep(WITHIN * 0.6)
            await client.send(b"\r\n")
            assert b"HTTP/1.1 4" in await answers.receive_until(b"\r\n\r\n", 10_000)
        await client.send(begun or b"\r\n")
        with pytest.raises(anyio.IncompleteRead):
            await answers.receive_until(b"no such text", 100_000)


FORM = b"POST /ui/sign-in HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
SUBMIT = b"POST /jobs HTTP/1.1\r\nContent-Type: application/json\r\n"
AUTHORIZED = SUBMIT + b"Authorization: Bearer a-token\r\n"
SAME_SITE = b"Host: x\r\nOrigin: http://x\r\n"


@pytest.mark.parametrize("request_", [FORM, SUBMIT, AUTHORIZED], ids=["sign in", "refused", "read"])
async def test_a_body_must_come_in_time(request_: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of it now and then is not enough, even where nobody needs it, because anybody may send that."""
    monkeypatch.setattr(hurried, "BODY_WITHIN", WITHIN)
    async with connected() as client:
        await client.send(request_ + SAME_SITE + b"Content-Length: 3\r\n\r\nx")
        await anyio.sleep(WITHIN / 2)
        await client.send(b"x=")  # in time
        answers = BufferedByteReceiveStream(client)
        assert b"HTTP/1.1 4" in await answers.receive_until(b"\r\n\r\n", 10_000)
        await client.send(request_ + SAME_SITE + b"Content-Length: 10000\r\n\r\n")
        with pytest.raises((anyio.BrokenResourceError, anyio.ClosedResourceError)):
            while True:
                await client.send(b"x")
                await anyio.sleep(WITHIN / 10)
