"""Upkeep: every worker takes back expired leases, makes due timers ready, and reports itself and its agents."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

import anyio

from ..contracts.app import App
from ..contracts.errors import BatonpassError, Unavailable
from ..coordinator.calls import adrive
from ..coordinator.calls.declaring import leaving, recalling
from ..coordinator.commands import Reap, Reaped, TrimEvents
from ..coordinator.store import Store
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Seconds: the longest pause between two rounds (SOON in lua/lib/base.lua is a little longer), the jitter that keeps
# workers apart, and how long presence lasts.
_PAUSE, _JITTER, _PRESENCE = 1.0, 0.05, 5.0
# ... and between two looks at how many events there are. A busy store adds some thousands a second to a million.
_TRIM = 20.0
# ... and how long a worker that stops looks at what it has made wait.
_LEAVING = 5.0
# ... and the shortest pause, however much is due.
_LEAST = 0.01
# ... and how long expired leases are left to their holders: after the store was away or took this long to answer, and
# after this worker started (perhaps it had to wait for the store, too). The holders try again to renew them within
# 1.5 s. If others took their jobs over, work in progress would be done twice.
_GRACE = 2.0
# ... and between two looks whether the store still knows the app's agents. Long, because an idle worker may not cost
# much.
_DECLARED, _DECLARED_JITTER = 15.0, 1.0


class Alarm:
    """Wakes a worker's upkeep: a claim that learns of a timer reports it, so that it is not a second late. In one event
    loop."""

    def __init__(self) -> None:
        self._due = math.inf
        self._nearer = anyio.Event()

    def due_in(self, seconds: float) -> None:
        """Something is due in this time."""
        at = time.monotonic() + seconds
        if at < self._due:
            self._due = at
            self._nearer.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep this long, or until something is due, which is then cleared."""
        until = time.monotonic() + seconds
        await anyio.sleep(min(seconds, _LEAST))
        while (left := min(until, self._due) - time.monotonic()) > 0:
            self._nearer = anyio.Event()
            with anyio.move_on_after(left):
                await self._nearer.wait()
        if self._due <= time.monotonic():
            self._due = math.inf


class _Spared:
    """The partitions whose expired leases are left to their holders for now: they were away until a moment ago."""

    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def now(self) -> tuple[int, ...]:
        """Their numbers."""
        self._until = {at: until for at, until in self._until.items() if until > time.monotonic()}
        return tuple(self._until)

    def note(self, away: Iterable[int]) -> None:
        """These did not answer, the others did."""
        back = {at: time.monotonic() + _GRACE if until == math.inf else until for at, until in self._until.items()}
        self._until = back | dict.fromkeys(away, math.inf)


async def keep_up(store: Store, present: str, queues: Sequence[str], alarm: Alarm) -> None:
    """Reap when the next lease or timer is due, and at least every second. Ends by cancellation.

    `present` is the worker's entry in the record of live workers.
    """
    rounds = _Rounds(store, present, queues)
    while True:
        pause = await rounds.next()
        await alarm.sleep(pause + random.uniform(_LEAST, _JITTER))


class _Rounds:
    """What one worker's rounds know of those before. If leases are due, they are taken in the next round, not at once:
    the first one may have waited at a store that stood still, ahead of the heartbeats that waited with it."""

    def __init__(self, store: Store, present: str, queues: Sequence[str]) -> None:
        self._store = store
        self._present = present
        self._queues = tuple(queues)
        self._trouble = Trouble("upkeep failed")
        self._spared = _Spared()
        self._noted = self._trimmed = -math.inf
        self._grace = math.inf  # until then, expired leases are left to their holders
        self._due = self._late = False

    async def next(self) -> float:
        """Reap. Returns how long to pause then, in seconds."""
        began = time.monotonic()
        note, left = began - self._noted > _PRESENCE / 2, began < self._grace
        presence = int(_PRESENCE * 1000) if note else 0
        try:
            leases, spared = self._due and not left, self._spared.now()
            reaped = await self._store.acall(
                Reap(
                    500,
                    worker=self._present,
                    queues=self._queues,
                    presence=presence,
                    leases=leases,
                    spared=spared,
                )
            )
        except Unavailable as error:
            self._trouble.met(error)
            reaped, self._grace = Reaped(0, -1), math.inf
        else:
            await self._answered(reaped, began, note=note, left=left)
        if reaped.moved:
            _log.info("made ready: %d (expired leases, due timers)", reaped.moved)
        self._due = reaped.next_due == 0
        pause = reaped.next_due / 1000 if reaped.next_due >= 0 else _PAUSE
        if left and self._due and not reaped.moved:  # a lease that is left to its holder for now
            pause = max(self._grace - time.monotonic(), 0)
        return min(pause, _PAUSE)

    async def _answered(self, reaped: Reaped, began: float, *, note: bool, left: bool) -> None:
        """The store has answered, or all of its partitions but some."""
        self._spared.note(reaped.away)
        if reaped.away:
            self._trouble.met(next(iter(reaped.away.values())))
        else:
            self._trouble.over()
        slow = time.monotonic() - began > _GRACE
        if slow and not (left and self._late):  # a store that is always slow must not protect them for ever
            self._grace = math.inf
        self._late = slow
        self._grace = min(self._grace, time.monotonic() + _GRACE)
        if note and not reaped.away:
            self._noted = time.monotonic()
        if time.monotonic() - self._trimmed > _TRIM:
            self._trimmed = time.monotonic()
            await _trim(self._store)


def stay(store: Store, present: str, queues: Sequence[str]) -> None:
    """Report that the worker is still there, in place of rounds that an agent's code holds up."""
    store.call(Reap(1, worker=present, queues=tuple(queues), presence=int(_PRESENCE * 1000), leases=False))


async def leave(store: Store, app: App, present: str, queues: Sequence[str]) -> None:
    """Report that the worker is gone. If the store is away, its presence expires."""
    with anyio.move_on_after(_PAUSE), suppress(Unavailable):
        await store.acall(Reap(1, worker=present, queues=tuple(queues), presence=1))
    with anyio.move_on_after(_LEAVING), suppress(Unavailable):
        await adrive(store, leaving(app))


async def _trim(store: Store) -> None:
    """Delete the oldest events above the limit."""
    try:
        while await store.acall(TrimEvents(store.kept_events)):
            pass
    except Unavailable as error:
        _log.warning("events could not be trimmed, trying again: %s", error)


async def keep_declared(store: Store, app: App, served: Collection[str]) -> None:
    """Register the app's agents again with a store that was emptied, or lost its last writes: without its record, no
    submit reaches a live worker, and without its namespace, which is made again, too, the command line finds nothing.
    The record of `served` agents is also kept to what live workers read. Ends by cancellation."""
    looks, emptied = dict.fromkeys(served, 0), False
    while True:
        await anyio.sleep(_DECLARED + random.uniform(0, _DECLARED_JITTER))
        try:
            lost = await adrive(store, recalling(app, looks))
            if lost:
                emptied = True  # until the namespace is there: the next look finds the agents
                _log.warning("the store had lost its record of %s: registered again", ", ".join(lost))
            if emptied:
                await store.aopen()
                emptied = False
        except BatonpassError:  # the rounds log it
            continue
