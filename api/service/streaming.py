"""Streaming: a job's live output, and what happens, as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent

from batonpass.contracts.errors import BatonpassError, Corrupted, Rewound, Trimmed
from batonpass.contracts.jsonable import as_json
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.job import Job
from batonpass.coordinator.tail import tail

from .bodies import Events
from .happened import passed_over, reader
from .refusing import problem_of

SERVER_SENT = "text/event-stream"
# Seconds between signs of life, while the job streams nothing: proxies hang up on silent connections, many after a
# minute (nginx's proxy_read_timeout). It is sse-starlette's own default.
_ALIVE = 15
_END_OF_LINE = "\n"  # so that what a shell script cuts out of a line is usable
# Some clients take these for ends of lines. They stand in texts only, where JSON may escape them.
_SEPARATORS = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}
_LAST_WORDS = 1.0  # seconds in which a stream ends once the service stops


def streaming(sent: AsyncGenerator[ServerSentEvent]) -> EventSourceResponse:
    """Events as they come. Each has an id, so that a client that lost its connection goes on after it."""
    stopping = anyio.Event()
    return EventSourceResponse(
        _until(stopping, sent),
        ping=_ALIVE,
        sep=_END_OF_LINE,
        shutdown_event=stopping,
        shutdown_grace_period=_LAST_WORDS,
    )


async def parts_of(job: Job[Any], after: str) -> AsyncGenerator[ServerSentEvent]:
    """What a job's agents stream. The last event is "end", with the job's state, or "error"."""
    try:
        async with aclosing(job.parts(after=after)) as parts:
            async for part in parts:
                yield _event(part.data, id=part.cursor)
        yield _event({"id": job.id, "state": (await job.info()).state}, event="end")
    except BatonpassError as error:
        yield _failure(error)


async def events_of(coordinator: Coordinator, wanted: Events) -> AsyncGenerator[ServerSentEvent]:
    """What happens after a cursor. It only ends with an "error"."""
    # So that a client that loses its connection before the first event goes on from here, and not from a later "now".
    yield ServerSentEvent(id=wanted.after, sep=_END_OF_LINE)
    way = reader(coordinator, **wanted.model_dump(), follow=True)
    told, at = way.after, time.monotonic()
    try:
        async with aclosing(tail(coordinator.store, way, wanted.job, follow=True)) as pages:
            async for found in pages:
                for event in found:
                    yield _event(asdict(event), id=event.cursor)
                    told, at = event.cursor, time.monotonic()
                # Else the id of a client that wants rare events would grow so old that what it had not missed is gone.
                if way.after != told and time.monotonic() - at >= _ALIVE:
                    yield ServerSentEvent(id=way.after, sep=_END_OF_LINE)
                    told, at = way.after, time.monotonic()
    except (Rewound, Trimmed, Corrupted) as gap:
        yield _failure(passed_over(gap))
    except BatonpassError as error:
        yield _failure(error)


def _failure(error: BatonpassError) -> ServerSentEvent:
    problem = problem_of(error)
    return _event(
        {"error": problem.text, "type": problem.kind, "fields": list(problem.fields), **problem.more}, event="error"
    )


async def _until(stopping: anyio.Event, sent: AsyncGenerator[ServerSentEvent]) -> AsyncGenerator[ServerSentEvent]:
    """What comes before the service stops. (A client that then connects again is told the rest.)"""
    awaited: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopping.wait())]
    try:
        while True:
            coming = asyncio.ensure_future(anext(sent, None))
            awaited[1:] = [coming]
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            each = await coming if coming.done() else None
            if each is None:
                return
            yield each
    finally:
        for one in awaited:
            one.cancel()
        with anyio.CancelScope(shield=True):  # also if the client has hung up: it can't be closed while an event comes
            await asyncio.gather(*awaited, return_exceptions=True)
            await sent.aclose()


def _event(value: object, *, id: str | None = None, event: str | None = None) -> ServerSentEvent:
    text = as_json(value, no_number="strings").decode().translate(_SEPARATORS)
    return ServerSentEvent(text, id=id, event=event, sep=_END_OF_LINE)
