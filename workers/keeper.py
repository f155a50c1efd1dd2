"""LeaseKeeper: renews leases from its own thread and connection, so that blocking agent code can't stop it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Lock, Thread

from ..contracts.errors import BatonpassError, Fenced, NotFound, Unavailable
from ..coordinator.commands import Fence, Heartbeat, Release
from ..coordinator.store import Store
from .pauses import PATIENCE
from .standstill import LOOK, Standstill
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Heartbeats per lease: three may be lost.
_BEATS = 4
# ... and the longest pause between two. A worker that gives up a job because the store is away (after PATIENCE) has
# missed at least one heartbeat by then.
_PAUSE = PATIENCE / 3
# Why a lease was not renewed in time. The second is all that can be known: whoever stands still in the middle of a call
# can't tell that from a slow store.
_AWAY = "the store could not be reached in time, or took no writes"
_LATE = "its heartbeat was answered too late: the store was slow, or this process stood still"
_STOOD_STILL = (
    "this process stood still for %.1f s or longer: it was suspended, its machine had no time for it, or code in it "
    "held Python's lock (a slow regular expression, say). Leases ran out, so other workers may repeat %s. "
    'Code that holds the lock for so long belongs in isolation="process", or give the worker a longer --lease'
)
_TOLD = 5  # jobs that are named at most


@dataclass(slots=True)
class _Held:
    """A lease: its duration in ms, whom to tell when it is over, when to give it up, and when it runs out."""

    fence: Fence
    duration: int
    lost: Callable[[str, str], None]
    given_up: float
    runs_out: float


class LeaseKeeper:
    """Heartbeats for the deliveries of one worker. `shortest` is the shortest lease it may have to keep, in ms."""

    def __init__(self, store: Store, shortest: int) -> None:
        self._store = store
        self._pause = min(shortest / 1000 / _BEATS, _PAUSE)
        self._held: dict[str, _Held] = {}  # by lease
        # Leases that we tried to renew in time, and why that failed. Only the keeper's thread uses this.
        self._cut_off: dict[str, tuple[Fence, str]] = {}
        self._lock = Lock()
        self._wake = Event()
        self._stopped = False
        self._trouble = Trouble("heartbeat failed")
        self._standstill: Standstill | None = None
        self._thread = Thread(target=self._run, name="batonpass-keeper", daemon=True)

    def start(self, standstill: Standstill | None = None) -> None:
        """Start the thread. It looks for a standstill of the loop, too."""
        self._standstill = standstill
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close its connection."""
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout=5)

    def hold(self, fence: Fence, duration: int, lost: Callable[[str, str], None], most: float = math.inf) -> None:
        """Keep a lease of `duration` ms, for at most `most` seconds.

        When it is over, `lost(lease, "lost" or "canceled")` is called from the keeper's thread. The thread is not woken
        for a new lease, because that would get in the way of the agent that is about to start. It looks often enough.
        """
        now = time.monotonic()
        with self._lock:
            self._held[fence.lease_id] = _Held(fence, duration, lost, now + most, now + duration / 1000)

    def limit(self, lease: str, most: float) -> None:
        """Keep a lease for at most `most` seconds more."""
        with self._lock:
            if (held := self._held.get(lease)) is not None:
                held.given_up = time.monotonic() + most

    def drop(self, lease: str) -> None:
        """Stop keeping a lease."""
        with self._lock:
            self._held.pop(lease, None)

    def _run(self) -> None:
        while not self._stopped:
            self._rest()
            with self._lock:
                held = list(self._held.values())
            if (held or self._cut_off) and not self._stopped:
                try:
                    self._beat(held)
                except Exception:  # whatever it is: if this thread ended, all leases would expire
                    _log.exception("heartbeat failed, trying again")
        self._store.close()

    def _rest(self) -> None:
        """Wait until heartbeats are due."""
        end = time.monotonic() + self._pause
        while not self._waited(end) and time.monotonic() < end:
            self._look()
        self._wake.clear()
        self._look()

    def _waited(self, end: float) -> bool:
        """Wait until then, for LOOK seconds at most. Returns whether there is something to do before."""
        due = min(end, time.monotonic() + LOOK)
        woken = self._wake.wait(max(0.0, due - time.monotonic()))
        now = time.monotonic()
        with self._lock:
            over = [each.fence.job_id for each in self._held.values() if due < each.runs_out <= now]
        if over:
            jobs = ", ".join(over[:_TOLD]) + (f" and {len(over) - _TOLD} more" if len(over) > _TOLD else "")
            _log.warning(_STOOD_STILL, now - due, f"job{'s' if len(over) > 1 else ''} {jobs}")
        return woken

    def _look(self) -> None:
        if self._standstill is not None and not self._stopped:
            try:
                self._standstill.look(holding=bool(self._held))
            except Exception:  # as below
                _log.exception("can't look whether the event loop goes on, trying again")

    def _beat(self, held: list[_Held]) -> None:
        now = time.monotonic()
        for each in [each for each in held if each.given_up < now]:
            held.remove(each)
            self._cut_off.pop(each.fence.lease_id, None)
            self._lose(each, "lost")
        in_time = {each.fence.lease_id: each.fence for each in held if now < each.runs_out}
        try:
            for lease in in_time.keys() & self._renew(held, now):
                self._cut_off.setdefault(lease, (in_time[lease], _LATE))
            self._give_back()
            self._trouble.over()  # not sooner: a full disk refuses a release, but not a heartbeat for no lease
        except BatonpassError as error:
            if isinstance(error, Unavailable):
                self._cut_off |= {lease: (fence, _AWAY) for lease, fence in in_time.items()}
            self._trouble.met(error)
            time.sleep(0.1)
            self._wake.set()

    def _renew(self, held: list[_Held], now: float) -> set[str]:
        """Renew these leases. Returns those that are lost."""
        lost: set[str] = set()
        answers = self._store.call(Heartbeat(tuple((each.fence, each.duration) for each in held)))
        for each, status in zip(held, answers, strict=True):
            if status:
                lost.add(each.fence.lease_id)
                self._lose(each, status)
            else:
                each.runs_out = now + each.duration / 1000
        return lost

    def _give_back(self) -> None:
        """The store is back. Release the jobs that were given up meanwhile, so that their leases needn't run out. If
        another worker took one over, that doesn't count as a crash of ours. (A worker that was frozen, perhaps by the
        job, did not try to renew in time. That still counts, except in the milliseconds of each heartbeat: whoever is
        frozen in one has tried, and can't tell why no answer came.)"""
        with self._lock:
            self._cut_off = {lease: given for lease, given in self._cut_off.items() if lease not in self._held}
        for lease, (fence, why) in list(self._cut_off.items()):
            with suppress(Fenced, NotFound):  # it has ended, or others have run it since
                self._store.call(Release(fence, cut_off=True))
                _log.info("job %s: given back, as %s", fence.job_id, why)
            del self._cut_off[lease]

    def _lose(self, held: _Held, status: str) -> None:
        lease = held.fence.lease_id
        with self._lock:
            still_held = self._held.pop(lease, None)
        if still_held:
            held.lost(lease, status)
