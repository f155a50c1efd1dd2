"""Waiting in tests: for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(look: Callable[[], T], *, timeout: float = 60.0, what: str = "") -> T:
    """What `look` returns as soon as that is true. Fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s in vain{': ' if what else ''}{what}")
        time.sleep(0.005)
    return found
