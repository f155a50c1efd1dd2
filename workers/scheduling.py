"""Scheduling: every worker looks for due schedules, and submits their jobs."""

from __future__ import annotations

import logging
import random

import anyio

from ..contracts.errors import BatonpassError
from ..coordinator.book import Book
from ..coordinator.calls import adrive, schedules
from ..coordinator.store import Store
from .trouble import Trouble

_log = logging.getLogger("batonpass.worker")
# Seconds: the longest pause between two looks, within which a new schedule is noticed, and the jitter that keeps
# workers apart.
_PAUSE, _JITTER = 10.0, 0.1
# ... and the pause before the next try, if the store was away or a job could not be submitted yet.
_SOON = 1.0


async def keep_schedules(store: Store, book: Book) -> None:
    """Look when the next schedule is due, and every few seconds. Ends by cancellation."""
    left, unread, late = dict[str, int](), Trouble("can't read schedules"), dict[str, Trouble]()
    while True:
        pause, began = _PAUSE, anyio.current_time()
        try:
            look = await adrive(store, schedules.look(book, left))
        except BatonpassError as error:
            unread.met(error)
            pause = _SOON
        else:
            unread.over()
            for name, job in look.jobs:
                _log.info("schedule %s was due: job %s", name, job)
            for name, problem in look.errors:
                _log.error("schedule %s: no job was submitted: %s", name, problem)
            for name, problem in look.late:
                late.setdefault(name, Trouble(f"schedule {name} is late")).met(problem)
                pause = _SOON
            for name in late.keys() - dict(look.late).keys():
                late.pop(name).over()
            if look.wait is not None:
                # Submitting takes time, too: with many schedules, seconds.
                pause = max(min(began + look.wait / 1000 - anyio.current_time(), pause), 0)
        await anyio.sleep(pause + random.uniform(0.01, _JITTER))
