"""Leaving: deliveries that this worker gives back because others may do better with them."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

from anyio import to_thread

from ..contracts.errors import Fenced, OverBudget
from ..coordinator.live_workers import has_other
from ..coordinator.rows import JobRow
from ..coordinator.store import Store
from .aside import Aside
from .outcomes.closing import Closing
from .session import LeaseSession

_log = logging.getLogger("batonpass.worker")
# The journal's record of how often each worker has left a job to others since it last came further, and how often that
# may be, and all of them together. With the pauses that a worker makes each time, others have seven minutes.
_LEFT, _LEAVES, _IN_ALL = "left", 10, 50


class Leaving:
    """Gives deliveries of one worker back, and notes that it leaves them alone for a while. `version` is its app's."""

    def __init__(self, store: Store, closing: Closing, aside: Aside, version: str) -> None:
        self._store = store
        self._closing = closing
        self._aside = aside
        self._version = version

    async def leave(self, about: str, row: JobRow, why: str, what: str = "queue") -> None:
        """Leave a job to others, or with `what="queue"` all that wait where it does."""
        pause = self._aside.put(row, what)
        _log.error("%s: this worker leaves it to others for %g s, it %s", about, pause, why)
        await self._closing.release(about, row.fence, aside=True)

    async def to_other_code(self, about: str, row: JobRow, session: LeaseSession, error: BaseException) -> bool:
        """Leave a job that other code has begun, if another live worker may have that, as in a rolling deploy. False if
        there is none, or if that takes nothing or does not go on with it either. Raises errors of the store.
        """
        why = f"does not go on with it, and another worker may: {error}"
        return await self._has_other(row) and await self.for_now(about, row, session, why)

    async def for_now(self, about: str, row: JobRow, session: LeaseSession, why: str) -> bool:
        """Leave a job to others, or to later. False if that was in vain too often: it must not be run so for ever.
        Raises errors of the store.
        """
        left: dict[str, int] = session.journal.get(_LEFT, {}) if row.closed.startswith("release ") else {}
        times = left.get(row.worker, 0)
        if times >= _LEAVES or sum(left.values()) >= _IN_ALL:
            return False
        with suppress(Fenced, OverBudget):  # who ends the delivery is told so, too
            await session.arecord({_LEFT: {**left, row.worker: times + 1}})  # with what was spent
        await self.leave(about, replace(row, tip=session.tip_id), why, "job")
        return True

    async def _has_other(self, row: JobRow) -> bool:
        return await to_thread.run_sync(has_other, self._store, row.queue, row.worker, self._version)
