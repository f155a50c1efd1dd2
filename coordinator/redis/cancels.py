"""Heeding cancellations that the client library swallows."""

from __future__ import annotations

import math
from asyncio import CancelledError, current_task
from collections.abc import Awaitable
from typing import TypeVar

from anyio import current_effective_deadline

T = TypeVar("T")


async def heeding(asked: Awaitable[T]) -> T:
    """What the client answers, or its error, unless its task is cancelled meanwhile.

    On Python 3.11 `asyncio.wait_for`, by which redis-py writes, loses a cancel that comes just as the command was
    written. One of anyio's scopes comes again by itself.
    """
    task = current_task()
    before = task.cancelling() if task else 0

    def heed() -> None:
        if task and task.cancelling() > before and current_effective_deadline() != -math.inf:
            raise CancelledError

    try:
        answer = await asked
    except Exception:
        heed()
        raise
    heed()
    return answer
