"""Endless values: those that contain themselves, or have more layers than can be saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....contracts.builtin_types import class_of
from ....contracts.errors import Unserializable

_DEEPEST = 1100  # more layers than our codec packs
_HOLDERS = (list, dict, tuple)


def is_endless(value: Any) -> bool:
    """Whether its lists, dicts and tuples are too deep, as those that contain themselves are. To try each layer would
    take minutes."""
    layer = [value]
    for _ in range(_DEEPEST):
        held: Iterable[Any] = (part for each in layer for part in (each.values() if class_of(each) is dict else each))
        layer = list({id(part): part for part in held if class_of(part) in _HOLDERS}.values())
        if not layer:
            return False
    return True


def refusal(path: str) -> Unserializable:
    """What to say about an endless value."""
    return Unserializable(
        f"{path} can't be saved: it contains itself, or has too many layers. Convert it to plain values first",
        path=path,
    )
