"""Handing a job on: the last checkpoint, the end of this delivery and the next one in one commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redis
import redis.asyncio
from anyio import run

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import adrive, drive
from batonpass.coordinator.lifetime import Lifetime
from batonpass.coordinator.redis.connections import AsyncConnection, Connections
from batonpass.coordinator.snapshots import draft
from batonpass.coordinator.store import Store
from batonpass.workers.outcomes.outcomes import handing_off
from benchmarks.agents import Topic, app, pass_on
from benchmarks.holding import held
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.states import states
from benchmarks.timing import Effort, acompare, compare

_BAR = 1.5
_FINAL = Snapshot(step="last", state=states(1)[0])
_DATA = draft(_FINAL, thread="run-001", agent="pass").new.state
_ALONE = "the commands of a hand off and nothing else, in one script"
BARE = Path(__file__).with_name("bare_hand_off.lua").read_text()


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside a raw SET of the state's bytes; a worker does it in async code."""
    return [_sync(places, effort), run(_async, places, effort), _bare(places, effort), run(_abare, places, effort)]


class Jobs:
    """Jobs that are held, and what hands each of them on."""

    def __init__(self, store: Store, effort: Effort) -> None:
        self._held = [held(store, pass_on) for _ in range(effort.calls * (effort.rounds + 1))]
        self._book = Book(app)

    def ended(self, number: int) -> tuple[Any, Any]:
        session, envelope = self._held[number]
        handoff = bp.Handoff("start", Topic(number=1))
        return session, handing_off(self._book, pass_on, envelope, session, handoff, _FINAL)


def _sync(places: Places, effort: Effort) -> Result:
    url = places.redis_url
    with bp.connect(url, namespace=places.namespace(), app=app) as coordinator, redis.Redis.from_url(url) as client:
        jobs = Jobs(coordinator.store, effort)

        def hand_off(number: int) -> None:
            session, end = jobs.ended(number)
            session.write(drive(coordinator.store, end))

        comparison = compare(effort, hand_off, lambda n: client.set(f"{places.mark}:{n}", _DATA))
    return Result.compared("hand off with a 4 KB state, Redis, sync / SET", comparison, bar=_BAR)


async def _async(places: Places, effort: Effort) -> Result:
    url = places.redis_url
    async with (
        bp.connect(url, namespace=places.namespace(), app=app) as coordinator,
        redis.asyncio.Redis.from_url(url) as client,
    ):
        jobs = Jobs(coordinator.store, effort)

        async def hand_off(number: int) -> None:
            session, end = jobs.ended(number)
            await session.awrite(await adrive(coordinator.store, end))

        comparison = await acompare(effort, hand_off, lambda n: client.set(f"{places.mark}:{n}", _DATA))
    return Result.compared("hand off with a 4 KB state, Redis, async / SET", comparison, bar=_BAR)


def _bare(places: Places, effort: Effort) -> Result:
    """How near to its floor any hand off could come that writes the same, over the connections that ours uses."""
    with redis.Redis.from_url(places.redis_url) as client:
        ours, mark = Connections(client, Lifetime()), places.mark
        called = "EVALSHA", client.script_load(BARE), 1, f"{mark}:bare:"
        comparison = compare(effort, lambda n: ours.ask(*called, n, _DATA), lambda n: client.set(f"{mark}:{n}", _DATA))
        ours.close()
    return Result.compared(f"{_ALONE}, sync / SET", comparison)


async def _abare(places: Places, effort: Effort) -> Result:
    async with redis.asyncio.Redis.from_url(places.redis_url) as client:
        ours, mark = AsyncConnection(client), places.mark
        called = "EVALSHA", await client.script_load(BARE), 1, f"{mark}:bare:"
        comparison = await acompare(
            effort, lambda n: ours.ask(*called, n, _DATA), lambda n: client.set(f"{mark}:{n}", _DATA)
        )
        await ours.aclose()
    return Result.compared(f"{_ALONE}, async / SET", comparison)
