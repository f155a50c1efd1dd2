"""Scheduling: every worker looks for due schedules, and submits their jobs."""

from __future__ import annotations

import logging
import random

import anyio

from ..contracts.errors import BatonpassError
from ..coordinator.book import Book
from ..coordinator.calls import adrive, schedules
from ..coordinator.store import Store

_log = logging.getLogger("batonpass.worker")
# Seconds: the longest pause between two looks, within which a new schedule is noticed, and the jitter that keeps
# workers apart.
_PAUSE, _JITTER = 10.0, 0.1


async def keep_schedules(store: Store, book: Book) -> None:
    """Look when the next schedule is due, and every few seconds. Ends by cancellation."""
    left = dict[str, int]()
    while True:
        pause = _PAUSE
        try:
            look = await adrive(store, schedules.look(book, left))
        except BatonpassError as error:
            _log.warning("can't read schedules, trying again: %s", error)
        else:
            for name, job in look.jobs:
                _log.info("schedule %s was due: job %s", name, job)
            for name, problem in look.errors:
                _log.error("schedule %s: no job was submitted: %s", name, problem)
            for name, problem in look.late:
                _log.warning("schedule %s is late, trying again: %s", name, problem)
            if look.wait is not None:
                pause = min(look.wait / 1000, _PAUSE)
        await anyio.sleep(pause + random.uniform(0.01, _JITTER))
