"""Frameworks: finds adapters by their entry points, also where their frameworks are not installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

GROUP = "batonpass.adapters"


@cache  # looking through all installed packages takes milliseconds, which would block an event loop
def adapter_of(framework: str) -> Any:
    """The adapter's class, without importing its framework. None if no installed package has one."""
    for point in entry_points(group=GROUP, name=framework):
        return point.load()
    return None
