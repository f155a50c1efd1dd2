"""Streaming: passes what a graph's nodes write to LangGraph's stream on to the job's stream."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from langgraph.pregel.protocol import StreamProtocol
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from ....contracts.errors import BatonpassError
from ....coordinator.session import Session
from ..internals import RUNTIME, STREAM
from ..serde.plain import readable

_MOST = 500  # values in one write, which holds up everybody else at the store


class Streaming:
    """Runs the graph as if it were a part of another graph that streams. To ask it for its stream would double the time
    of its supersteps, even if it writes nothing. A part's long-term memory is the other graph's, so that one has this
    graph's own (`memory`)."""

    def __init__(self, session: Session, memory: BaseStore | None) -> None:
        self._session = session
        self._memory = memory
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Any] = []
        self._sending: asyncio.Task[None] | None = None
        self._over = False

    @property
    def config(self) -> dict[str, Any]:
        """What to add to the config of the run."""
        return {
            STREAM: StreamProtocol(lambda chunk: None, {"custom"}),
            RUNTIME: Runtime(stream_writer=self.write, store=self._memory),
        }

    async def sent(self) -> None:
        """Wait until everything that was written is sent."""
        await asyncio.sleep(0)  # what was written is on its way to this loop
        if self._sending is not None:
            await self._sending

    def stop(self) -> None:
        """Send no more: the attempt is over, and the store may be away for long."""
        self._over = True
        if self._sending is not None:
            self._sending.cancel()

    def write(self, chunk: Any) -> None:
        """Send a value. Nodes call this, in any thread."""
        self._loop.call_soon_threadsafe(self._add, readable(chunk))

    def _add(self, value: Any) -> None:
        self._waiting.append(value)
        if self._sending is None and not self._over:
            self._sending = self._loop.create_task(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting:
                values, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                with suppress(BatonpassError):  # if something is wrong with the job, its next write raises
                    await self._session.aemit(values)
        finally:
            self._sending = None
