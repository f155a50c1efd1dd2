"""Streaming: a job's live output as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent

from batonpass.contracts.errors import BatonpassError
from batonpass.contracts.jsonable import as_json
from batonpass.contracts.part import Part
from batonpass.coordinator.job import Job

from .refusing import problem_of

SERVER_SENT = "text/event-stream"
# Seconds between signs of life, while the job streams nothing: proxies hang up on silent connections, many after a
# minute (nginx's proxy_read_timeout). It is sse-starlette's own default.
_ALIVE = 15
_LAST_WORDS = 1.0  # seconds in which a stream ends once the service stops


def streaming(job: Job[Any], after: str) -> EventSourceResponse:
    """Each part as an event whose id is its cursor, so that a client that lost its connection goes on after it. The
    last event is "end", with the job's state, or "error"."""
    stopping = anyio.Event()
    return EventSourceResponse(
        _events(job, after, stopping),
        ping=_ALIVE,
        shutdown_event=stopping,
        shutdown_grace_period=_LAST_WORDS,
    )


async def _events(job: Job[Any], after: str, stopping: anyio.Event) -> AsyncGenerator[ServerSentEvent]:
    try:
        async with aclosing(job.parts(after=after)) as parts, aclosing(_until(stopping, parts)) as in_time:
            async for part in in_time:
                yield ServerSentEvent(_json(part.data), id=part.cursor)
        if not stopping.is_set():
            yield ServerSentEvent(_json({"id": job.id, "state": (await job.info()).state}), event="end")
    except BatonpassError as error:
        yield ServerSentEvent(_json({"error": problem_of(error).text}), event="error")


async def _until(stopping: anyio.Event, parts: AsyncGenerator[Part]) -> AsyncGenerator[Part]:
    """The parts that come before the service stops. (A client that then connects again is told the rest.)"""
    awaited: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopping.wait())]
    try:
        while True:
            coming = asyncio.ensure_future(anext(parts, None))
            awaited[1:] = [coming]
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            part = await coming if coming.done() else None
            if part is None:
                return
            yield part
    finally:
        for each in awaited:
            each.cancel()
        with anyio.CancelScope(shield=True):  # also if the client has hung up: parts can't be closed while they come
            await asyncio.gather(*awaited, return_exceptions=True)


def _json(value: object) -> str:
    return as_json(value, no_number="strings").decode()
