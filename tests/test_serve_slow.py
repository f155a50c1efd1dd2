"""Clients that take for ever to say what they want."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

import batonpass as bp
from batonpass.service import hurried
from batonpass.service.running import Place, serve

WITHIN = 0.3


@pytest.mark.parametrize("begun", [b"", b"GET /jobs HTT", b"GET /jobs HTTP/1.1\r\nHost: x\r\nX-One: 1\r\n"])
@pytest.mark.parametrize("after", [0, 2], ids=["first", "kept alive"])
async def test_headers_must_come_in_time(begun: bytes, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hurried, "HEADERS_WITHIN", WITHIN)
    addresses: list[Any] = []
    async with anyio.create_task_group() as tasks:
        ready = anyio.Event()

        def started(_: str, url: str) -> None:
            addresses.append(url)
            ready.set()

        tasks.start_soon(serve, bp.connect("memory://"), Place("127.0.0.1", 0), "a-token", started)
        await ready.wait()
        with anyio.fail_after(30):
            async with await anyio.connect_tcp("127.0.0.1", int(addresses[0].rpartition(":")[2])) as client:
                answers = BufferedByteReceiveStream(client)
                for _ in range(after):  # what is in time is answered, also later than that on one connection
                    await client.send(b"GET /nothing HTTP/1.1\r\nHost: x\r\n")
                    await anyio.sleep(WITHIN * 0.6)
                    await client.send(b"\r\n")
                    assert b"HTTP/1.1 4" in await answers.receive_until(b"\r\n\r\n", 10_000)
                await client.send(begun or b"\r\n")
                with pytest.raises(anyio.IncompleteRead):
                    await answers.receive_until(b"no such text", 100_000)
        tasks.cancel_scope.cancel()
