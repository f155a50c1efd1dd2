"""Late: tells what takes so long."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from threading import Timer

_log = logging.getLogger("batonpass.worker")
_SILENCE = 2.0  # seconds after which a starting worker logs what it does


@contextmanager
def told_if_late(what: str) -> Generator[None]:
    """Log what takes so long. Importing a framework may take half a minute, and blocks."""
    timer = Timer(_SILENCE, _log.info, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a process that has other threads can't be forked
