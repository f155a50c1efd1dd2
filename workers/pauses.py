"""Pauses: how long to wait before a write is tried again that the store did not take."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

# How long to retry a write while the store can't be reached, in seconds. If the attempt failed, its work would be
# paid for again, and writes are safe to repeat.
PATIENCE = 30.0


def pauses() -> Iterator[float]:
    """How long to wait after each failure, until patience runs out."""
    deadline, pause = time.monotonic() + PATIENCE, 0.05
    while time.monotonic() < deadline:
        yield random.uniform(pause / 2, pause)
        pause = min(pause * 2, 2.0)
