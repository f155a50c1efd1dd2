"""Standstill: notices when code blocks its worker's event loop, and says whose it is. In the keeper's thread."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from typing import Any

from ..contracts.errors import BatonpassError
from .outcomes.error_place import stands_in
from .underway import AtWork

_log = logging.getLogger("batonpass.worker")
# Seconds between two looks, and how many of them a loop may miss. (Not only the time: a process that was frozen, and a
# loop in it that goes on with it, have missed one.)
LOOK, _MISSED = 0.5, 3
_EARLY = 0.9  # of LOOK: a wait may end a little early
_A_JOBS = (
    "%s: its code%s has blocked this worker's event loop for %.1f s. Meanwhile the worker's other jobs stand still, it "
    'takes no new ones, and no timeout ends this. Blocking code belongs in a plain `def`, or give the agent isolation="'
    'process"'
)
# It may be a job's, too, but an innocent job must not be blamed.
_SOMEBODYS = (
    "code in this worker's event loop%s has blocked it for %.1f s. Meanwhile the worker's jobs stand still, it takes "
    "no new ones, and no timeout ends this. Blocking code belongs in a thread"
)


class Standstill:
    """Watches the event loop that it is made in.

    `at_work` tells whose code a task of the loop runs, if that is sure. `present` is called again and again while the
    loop stands still: it reports the worker to others, as the loop would.
    """

    def __init__(self, at_work: Callable[[asyncio.Task[Any]], AtWork | None], present: Callable[[], object]) -> None:
        self._at_work = at_work
        self._present = present
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self._answered = True
        self._asked = self._looked = 0.0
        self._missed = 0
        self._told: str | None = None  # whose it is, once it is told

    def look(self, *, holding: bool) -> None:
        """Look whether the loop goes on, not more often than every LOOK seconds. `holding`: it runs jobs of ours."""
        now = time.monotonic()
        if now - self._looked < LOOK * _EARLY or not (holding or self._told is not None):
            return
        self._looked = now
        if not self._loop.is_running():  # nobody blocks it: its program does other things between two calls of it
            self._missed, self._asked = 0, now
            return
        if self._answered:
            self._goes_on(now)
            return
        self._missed += 1
        if self._missed >= _MISSED and self._told is None:
            self._tell(now - self._asked)
        if self._told is not None and holding:
            with suppress(BatonpassError):  # the heartbeats' trouble is logged
                self._present()

    def _goes_on(self, now: float) -> None:
        if self._told is not None:
            _log.info("%sthe event loop goes on, after %.1f s", self._told, now - self._asked)
        self._told, self._missed = None, 0
        self._answered, self._asked = False, now
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._answered = True

    def _tell(self, seconds: float) -> None:
        task = asyncio.current_task(self._loop)  # None in a callback
        whose = task and self._at_work(task)
        frame = sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
        found = stands_in(whose.agent if whose else None, frame)
        place = f" ({found})" if found else ""
        if whose:
            self._told = f"{whose.about}: "
            _log.warning(_A_JOBS, whose.about, place, seconds)
        else:
            self._told = ""
            _log.warning(_SOMEBODYS, place, seconds)
