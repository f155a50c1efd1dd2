"""Hurried: a connection on which a request must begin in time. uvicorn has a limit only for what follows a request, so
clients that send a header now and then would keep all of the service's connections."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_WITHIN = 10.0  # seconds, from the connection or the first byte to the end of the headers


class Hurried(H11Protocol):
    """Hangs up on a client whose headers are not there in time."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._calm()
        elif self._late is None:
            self._late = self.loop.call_later(HEADERS_WITHIN, self.timeout_keep_alive_handler)

    def _calm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
