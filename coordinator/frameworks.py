"""Frameworks: finds adapters by their entry points, also where their frameworks are not installed."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..contracts.plugged import plugged

GROUP = "batonpass.adapters"


@cache
def adapter_of(framework: str) -> Any:
    """The adapter's class, without importing its framework. None if no installed package has one."""
    for point in plugged(GROUP, framework):
        return point.load()
    return None
