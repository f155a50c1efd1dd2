"""Nothing: what a mapping field is by default."""

from __future__ import annotations

from typing import Any


def nothing() -> dict[str, Any]:
    """An empty dict. (`dict[str, Any]`, called, takes twenty times as long; `dict` alone is of no type.)"""
    return {}
