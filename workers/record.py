"""Record: registers a worker's agents again with a store that was emptied, or lost its last writes."""

from __future__ import annotations

import logging
import random

import anyio

from ..contracts.app import App
from ..contracts.errors import BatonpassError
from ..coordinator.calls import adrive
from ..coordinator.calls.declaring import recalling
from ..coordinator.store import Store

_log = logging.getLogger("batonpass.worker")
# Seconds between two looks, and the jitter that keeps workers apart. Long, because an idle worker may not cost much.
_PAUSE, _JITTER = 15.0, 1.0


async def keep_record(store: Store, app: App) -> None:
    """Check whether the store knows the app's agents: without its record, no submit reaches a live worker. Ends by
    cancellation."""
    while True:
        await anyio.sleep(_PAUSE + random.uniform(0, _JITTER))
        try:
            lost = await adrive(store, recalling(app))
        except BatonpassError:  # the upkeep logs it
            continue
        if lost:
            _log.warning("the store had lost its record of %s: registered again", ", ".join(lost))
