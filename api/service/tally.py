"""Tally: what has happened in a namespace since the first look, counted from its events."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from anyio import Lock

from batonpass.contracts import event as kinds
from batonpass.contracts.errors import Corrupted, Trimmed
from batonpass.contracts.event import Event
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.events import Reader, last, which
from batonpass.coordinator.client import Coordinator

_log = logging.getLogger("batonpass.service")
# Seconds of reading in one look. After a long time without one, it takes several to catch up.
_PATIENCE = 3.0
# Jobs that are remembered from their last event to the next. (A cap: of millions that wait, not all are timed.)
_REMEMBERED = 200_000
# Seconds: the upper ends of a histogram's buckets. An agent may be a function or hours of a team's talk.
BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)

# After these events a job may start. After those of _STOPPED it has ended, or waits for somebody.
_READY = frozenset(
    {
        *(kinds.SUBMITTED, kinds.HANDED_OFF, kinds.RETRYING, kinds.RELEASED, kinds.ANSWERED, kinds.UNANSWERED),
        *(kinds.JOINED, kinds.REDRIVEN, kinds.LEASE_EXPIRED, kinds.CRASHED),
    }
)
_STOPPED = frozenset(
    {
        *(kinds.COMPLETED, kinds.FAILED, kinds.CANCELED, kinds.REJECTED, kinds.SUSPENDED, kinds.FANNED_OUT),
        *(kinds.SLEEPING, kinds.JOB_DELETED),
    }
)


@dataclass
class Times:
    """How long something took, as a histogram: how many were in each bucket, the last of which has no end."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self.buckets[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


def _is_outside(event: Event) -> bool:
    """Whether a checkpoint was saved outside of jobs: its agent is any text, and there may be millions of them."""
    return event.type == kinds.SAVED and "hop" not in event.data


@dataclass(frozen=True)
class _Since:
    time: float
    agent: str
    running: bool


class Tally:
    """Counts a coordinator's events, each once, even if the store loses its last ones."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.events = Counter[tuple[str, str]]()
        """By type and agent."""
        self.failures = Counter[tuple[str, str]]()
        """By agent and reason."""
        self.waits: dict[str, Times] = {}
        self.runs: dict[str, Times] = {}
        self.behind = 0.0
        """Seconds between the newest event that is counted and the last look, if that did not come to the end."""
        self._coordinator = coordinator
        self._reader: Reader | None = None
        self._jobs: dict[str, _Since] = {}
        self._one = Lock()

    async def look(self) -> None:
        """Count what is new. The first look finds where to begin."""
        async with self._one:
            until = time.monotonic() + _PATIENCE
            reader = self._reader or self._from(await adrive(self._coordinator.store, last()))
            while time.monotonic() < until:
                try:
                    found = await adrive(self._coordinator.store, reader.page())
                except Trimmed as gone:  # nobody looked for a million events
                    reader = self._from(gone.first_available)
                    continue
                except Corrupted as damaged:
                    _log.error("the metrics count on without an event: %s", damaged)
                    continue
                self.count(found)
                if reader.ended:
                    self.behind = 0.0
                    break
                self.behind = max(0.0, time.time() - found[-1].time.timestamp()) if found else self.behind

    def _from(self, cursor: str) -> Reader:
        self._reader = Reader(cursor, "", which((), None, None), self._coordinator.url, follow=True)
        return self._reader

    def count(self, events: Iterable[Event]) -> None:
        """Count them, in their order."""
        for event in events:
            agent = "" if _is_outside(event) else str(event.data.get("agent", ""))
            self.events[event.type, agent] += 1
            if event.type == kinds.FAILED:
                self.failures[agent, str(event.data.get("reason", ""))] += 1
            since = event.time.timestamp()
            if "behind" in event.data:  # it waits for its thread, and is submitted again when it gets the thread
                self._goes_on(event, None)
            elif event.type in _READY:
                due: int = event.data.get("due", 0)
                self._goes_on(event, _Since(max(since, due / 1000), agent, running=False))
            elif event.type == kinds.STARTED:
                self._goes_on(event, _Since(since, agent, running=True))
            elif event.type in _STOPPED:
                self._goes_on(event, None)

    def _goes_on(self, event: Event, to: _Since | None) -> None:
        """A job ran or waited until now, and does what it does now."""
        was = self._jobs.pop(event.subject, None)
        if was and to and not was.running and not to.running:
            to = was  # it is due now, and the event that put it off had this time
        elif was and (was.running or to):
            times = (self.runs if was.running else self.waits).setdefault(was.agent, Times())
            times.add(max(event.time.timestamp() - was.time, 0.0))
        if to and len(self._jobs) < _REMEMBERED:
            self._jobs[event.subject] = to
