"""Upkeep: every worker takes back expired leases, makes due timers ready, and reports that it is live."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import anyio

from ..contracts.errors import Unavailable
from ..coordinator.commands import Reap, Reaped, TrimEvents
from ..coordinator.store import Store
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Seconds: the longest pause between two rounds (SOON in lua/lib/base.lua is a little longer), the jitter that keeps
# workers apart, and how long presence lasts.
_PAUSE, _JITTER, _PRESENCE = 1.0, 0.05, 5.0
# ... and between two looks at how many events there are. A busy store adds some thousands a second to a million.
_TRIM = 20.0
# ... and the shortest pause, however much is due.
_LEAST = 0.01
# ... and how long expired leases are left to their holders: after the store was away or took this long to answer, and
# after this worker started (perhaps it had to wait for the store, too). The holders try again to renew them within
# 1.5 s. If others took their jobs over, work in progress would be done twice.
_GRACE = 2.0


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

    `present` is the worker's entry in the record of live workers. If leases are due, they are taken at the next look,
    not at once: the first look may have waited at a store that stood still, ahead of the heartbeats that waited with
    it.
    """
    noted = trimmed = -math.inf
    grace = math.inf
    trouble, due, late, spared = Trouble("upkeep failed"), False, False, _Spared()
    while True:
        began = time.monotonic()
        note, left = began - noted > _PRESENCE / 2, began < grace
        presence = int(_PRESENCE * 1000) if note else 0
        try:
            about = Reap(500, worker=present, queues=tuple(queues), presence=presence, leases=due and not left)
            reaped = await store.acall(replace(about, spared=spared.now()))
        except Unavailable as error:
            trouble.met(error)
            reaped, grace = Reaped(0, -1), math.inf
        else:
            spared.note(reaped.away)
            if reaped.away:
                trouble.met(next(iter(reaped.away.values())))
            else:
                trouble.over()
            slow = time.monotonic() - began > _GRACE
            if slow and not (left and late):  # a store that is always slow must not protect them for ever
                grace = math.inf
            late = slow
            grace = min(grace, time.monotonic() + _GRACE)
            if note and not reaped.away:
                noted = time.monotonic()
            if time.monotonic() - trimmed > _TRIM:
                trimmed = time.monotonic()
                await _trim(store)
        if reaped.moved:
            _log.info("made ready: %d (expired leases, due timers)", reaped.moved)
        due = reaped.next_due == 0
        pause = reaped.next_due / 1000 if reaped.next_due >= 0 else _PAUSE
        if left and due and not reaped.moved:  # a lease that is left to its holder for now
            pause = max(grace - time.monotonic(), 0)
        await alarm.sleep(min(pause, _PAUSE) + random.uniform(_LEAST, _JITTER))


async def leave(store: Store, present: str, queues: Sequence[str]) -> None:
    """Report that the worker is gone. If the store is away, its presence expires."""
    with anyio.move_on_after(_PAUSE), suppress(Unavailable):
        await store.acall(Reap(1, worker=present, queues=tuple(queues), presence=1))


async def _trim(store: Store) -> None:
    """Delete the oldest events above the limit."""
    try:
        while await store.acall(TrimEvents(store.kept_events)):
            pass
    except Unavailable as error:
        _log.warning("events could not be trimmed, trying again: %s", error)
