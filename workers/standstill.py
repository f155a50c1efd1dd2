"""Standstill: notices when an agent's code blocks its worker's event loop, and says so. In the keeper's thread."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import get_ident
from types import FrameType
from typing import Any

from ..contracts.errors import BatonpassError
from .outcomes.error_place import stands_in
from .underway import AtWork

_log = logging.getLogger("batonpass.worker")
# Seconds between two looks, and how many of them a loop may miss. (Not only the time: a process that was frozen, and a
# loop in it that goes on with it, have missed one.)
LOOK, _MISSED = 0.5, 3
_EARLY = 0.9  # of LOOK: a wait may end a little early
_TOLD = (
    "%s: its code%s has blocked this worker's event loop for %.1f s. Meanwhile the worker's other jobs stand still, it "
    'takes no new ones, and no timeout ends this. Blocking code belongs in a plain `def`, or give the agent isolation="'
    'process"'
)


class Standstill:
    """Watches the event loop that it is made in.

    `at_work` tells whose code a task of the loop runs, all that are possible if it can't know. `present` is called
    again and again while the loop stands still: it reports the worker to others, as the loop would.
    """

    def __init__(
        self, at_work: Callable[[asyncio.Task[Any] | None], Sequence[AtWork]], present: Callable[[], object]
    ) -> None:
        self._at_work = at_work
        self._present = present
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self._answered = True
        self._asked = self._looked = 0.0
        self._missed = 0
        self._whose = ""  # once it is told

    def look(self, *, holding: bool) -> None:
        """Look whether the loop goes on, not more often than every LOOK seconds. `holding`: it runs jobs of ours."""
        now = time.monotonic()
        if now - self._looked < LOOK * _EARLY or not (holding or self._whose):
            return
        self._looked = now
        if self._answered:
            self._goes_on(now)
            return
        self._missed += 1
        if self._missed >= _MISSED and not self._whose:
            self._tell(now - self._asked)
        if self._whose and holding:
            with suppress(BatonpassError):  # the heartbeats' trouble is logged
                self._present()

    def _goes_on(self, now: float) -> None:
        if self._whose:
            _log.info("%s: the event loop goes on, after %.1f s", self._whose, now - self._asked)
        self._whose, self._missed = "", 0
        self._answered, self._asked = False, now
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._answered = True

    def _tell(self, seconds: float) -> None:
        whose = self._at_work(asyncio.current_task(self._loop))
        if not whose:  # it is other code of this program's
            return
        frame = sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
        self._whose = " or ".join(each.about for each in whose)
        _log.warning(_TOLD, self._whose, _place(whose, frame), seconds)


def _place(whose: Sequence[AtWork], frame: FrameType | None) -> str:
    """Where the code stands. It is the place of any of them."""
    places = [stands_in(each.agent, frame) for each in whose] if frame is not None else []
    return f" ({places[0]})" if places and places[0] else ""
