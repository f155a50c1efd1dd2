"""Channel: a worker's side of a socket to one of its processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from socket import socket
from typing import Any

from .frames import Frame, frame, frames_in


class Channel(asyncio.Protocol):
    """Calls `heard` for each message, and `gone` once when the other side has closed or died."""

    def __init__(self, heard: Callable[[Frame], None], gone: Callable[[], None]) -> None:
        self._heard = heard
        self._gone = gone
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None

    async def open(self, sock: socket) -> None:
        """Use a connected socket, which is the channel's from now on."""
        await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Does nothing if the other side is gone."""
        if self._transport is not None:
            self._transport.write(frame(message))

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        for message in frames_in(self._data):
            self._heard(message)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._gone()
