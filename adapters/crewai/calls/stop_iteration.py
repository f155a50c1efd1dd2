"""StopIteration: passes errors out of threads.

CrewAI runs sync methods, and an agent's model calls, in asyncio threads. Before Python 3.12 these can't pass on a
`StopIteration`: whoever awaits the thread waits for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def without_stop_iteration(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same function, but its `StopIteration` becomes a `RuntimeError` (as in a generator) that has its name."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except StopIteration as error:
            raise RuntimeError(f"{name} raised StopIteration: its next() found nothing") from error

    return call
