"""Endless values: those that contain themselves, or have more layers than can be saved."""

from __future__ import annotations

from typing import Any

from ....contracts.errors import Unserializable
from ....contracts.unpackable import endless

_DEEPEST = 200  # each layer takes several calls, one in the other, to wrap or to restore


def is_endless(value: Any) -> bool:
    """Whether its lists, dicts and tuples contain themselves, or are too deep to be wrapped."""
    return endless(value, "", (list, dict, tuple), _DEEPEST) is not None


def refusal(path: str) -> Unserializable:
    """What to say about an endless value."""
    return Unserializable(
        f"{path} can't be saved: it contains itself, or has too many layers. Convert it to plain values first",
        path=path,
    )
