"""Watchdog: ends a process that was told to stop but can't, because an agent's code blocks its loop."""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from collections.abc import Callable, Collection
from threading import Thread
from types import FrameType

_log = logging.getLogger("batonpass.worker")


class Watchdog:
    """Calls `leave` some seconds after a signal: `first` seconds after the first one, `then` after any other."""

    def __init__(self, first: float, then: float, leave: Callable[[], object]) -> None:
        self._first = first
        self._then = then
        self._leave = leave
        self._heard, self._told = os.pipe()
        self._off = False

    def listen(self, signals: Collection[signal.Signals], again: Collection[signal.Signals]) -> None:
        """Listen to these signals beside the event loop, which has its own handlers. After the first one, only those in
        `again` count.

        Python calls a handler between two steps of the main thread. It may only write: any lock that it took could be
        held by the code that it interrupts.
        """

        def hear(number: int, frame: FrameType | None) -> None:
            os.write(self._told, bytes([number]))

        for each in signals:
            signal.signal(each, hear)
            signal.siginterrupt(each, False)
        Thread(target=self._watch, args=(frozenset(again),), name="batonpass-watchdog", daemon=True).start()

    def call_off(self) -> None:
        """The process is stopping on its own."""
        self._off = True

    def _watch(self, again: Collection[int]) -> None:
        os.read(self._heard, 1)
        end = time.monotonic() + self._first
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._heard], [], [], left)
            if ready and os.read(self._heard, 1)[0] in again:
                end = min(end, time.monotonic() + self._then)
        if self._off:
            return
        _log.warning(
            "an agent's code keeps this process from ending: it exits anyway, and the leases of its jobs expire"
        )
        self._leave()
