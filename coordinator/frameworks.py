"""Frameworks: what the adapter of one offers to those who do not run it, found by the entry-point group."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any

GROUP = "batonpass.adapters"


@cache  # a look through every installed package takes milliseconds, in which an event loop would stand still
def adapter_of(framework: str) -> Any:
    """The adapter's class, its framework not imported; None if no package that is installed here has one."""
    for point in entry_points(group=GROUP, name=framework):
        return point.load()
    return None
