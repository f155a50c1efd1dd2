"""Hurried: a connection on which a request must arrive in time. uvicorn only limits the time after a request, so
clients that send a header or a piece of a body now and then could keep all of the service's connections."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_WITHIN = 10.0  # seconds, from the connection or the first byte to the end of the headers
BODY_WITHIN = 60.0  # ... and from there to the end of the body, whether anybody reads it or not


class Hurried(H11Protocol):
    """Hangs up on a client whose headers or body are not there in time."""

    _late: asyncio.TimerHandle | None = None
    _awaited: Any = None  # what the timer is for

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a client may offer another protocol (HTTP/2, say), and is answered in this one."""

    def _expect(self) -> None:
        expected = self.conn.their_state
        if self._late is not None and self._awaited is expected:
            return
        self._calm()
        if expected is h11.IDLE:
            self._late = self.loop.call_later(HEADERS_WITHIN, self.timeout_keep_alive_handler)
        elif expected is h11.SEND_BODY:
            self._late = self.loop.call_later(BODY_WITHIN, self.transport.close)
        self._awaited = expected

    def _calm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
