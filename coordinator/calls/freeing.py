"""Freeing: deletes what has expired, in case no worker runs that does it."""

from __future__ import annotations

import logging
from random import randrange

from ...contracts.errors import BatonpassError
from ..commands import Reap, Reaped
from . import Call

# One in this many writes frees, up to five times as many items.
_EVERY = 100
_log = logging.getLogger("batonpass.store")


class Freeing:
    """Counts writes of what has a ttl. If more has expired than is freed at once, the next write goes on."""

    def __init__(self) -> None:
        self._writes = randrange(_EVERY)  # so that processes with few writes free sometimes, too
        self._left = False

    def wrote(self) -> Call[None]:
        """Called after a write, which stays done even if nothing can be freed now."""
        self._writes += 1
        if self._writes % _EVERY and not self._left:
            return
        self._left = False
        try:
            reaped: Reaped = yield Reap(limit=5 * _EVERY, leases=False)
            self._left = reaped.left
        except BatonpassError as error:
            _log.warning("expired data is deleted later: %s", error)
