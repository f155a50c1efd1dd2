"""LeaseKeeper: renews leases from its own thread and connection, so that blocking agent code can't stop it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from threading import Event, Lock, Thread

from ..contracts.errors import BatonpassError
from ..coordinator.commands import Fence, Heartbeat
from ..coordinator.store import Store
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Heartbeats per lease: three may be lost.
_BEATS = 4
# A lease, its duration in ms, the callback for its loss, and the time when it is given up.
_Held = tuple[Fence, int, Callable[[str, str], None], float]


class LeaseKeeper:
    """Heartbeats for the deliveries of one worker. `shortest` is the shortest lease it may have to keep, in ms."""

    def __init__(self, store: Store, shortest: int) -> None:
        self._store = store
        self._pause = shortest / 1000 / _BEATS
        self._held: dict[str, _Held] = {}  # by lease
        self._lock = Lock()
        self._wake = Event()
        self._stopped = False
        self._trouble = Trouble("heartbeat failed")
        self._thread = Thread(target=self._run, name="batonpass-keeper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
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
        with self._lock:
            self._held[fence.lease_id] = (fence, duration, lost, time.monotonic() + most)

    def limit(self, lease: str, most: float) -> None:
        """Keep a lease for at most `most` seconds more."""
        with self._lock:
            if (held := self._held.get(lease)) is not None:
                self._held[lease] = (*held[:3], time.monotonic() + most)

    def drop(self, lease: str) -> None:
        """Stop keeping a lease."""
        with self._lock:
            self._held.pop(lease, None)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause)
            self._wake.clear()
            with self._lock:
                held = list(self._held.values())
            if held and not self._stopped:
                try:
                    self._beat(held)
                except Exception:  # whatever it is: a thread that has ended keeps no lease
                    _log.exception("heartbeat failed, trying again")
        self._store.close()

    def _beat(self, held: list[_Held]) -> None:
        now = time.monotonic()
        for each in [each for each in held if each[3] < now]:
            held.remove(each)
            self._lose(each, "lost")
        try:
            answers = self._store.call(Heartbeat(tuple((fence, duration) for fence, duration, *_ in held)))
        except BatonpassError as error:
            self._trouble.met(error)
            time.sleep(0.1)
            self._wake.set()
            return
        self._trouble.over()
        for each, status in zip(held, answers, strict=True):
            if status:
                self._lose(each, status)

    def _lose(self, held: _Held, status: str) -> None:
        fence, _, lost, _ = held
        with self._lock:
            still_held = self._held.pop(fence.lease_id, None)
        if still_held:
            lost(fence.lease_id, status)
