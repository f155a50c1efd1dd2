"""Shielded: a wait that can be cancelled, for what goes on without it.

As `asyncio.shield`, which since Python 3.14 logs an error that comes after that. Here nobody has asked for it any more.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


async def shielded(future: asyncio.Future[T]) -> T:
    """What a future gives, or its error. If the caller is cancelled, the future is not."""
    future.add_done_callback(_mark_as_seen)
    await asyncio.wait([future])
    return future.result()


def _mark_as_seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
