"""Containers: copies of values that must not change while they are being saved."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from ..contracts.builtin_types import class_of

HOLDERS: frozenset[type[Any]] = frozenset({list, dict, tuple, set})
# Deeper ones are left to the codec, which refuses what is too deep.
_DEEPEST = 100


def copy_containers(value: Any, holders: frozenset[type[Any]] = HOLDERS, depth: int = 0) -> Any:
    """The value, with copies of its containers. A graph continues while its checkpoint is put. If a node appended to a
    list of its state while that is packed, neither the old list nor the new one would be stored.

    Each container is copied in one step, in which no other thread can run. `holders` other than lists, dicts, tuples
    and sets hold a value in their `arg`.
    """
    kind = class_of(value)
    if kind not in holders or depth > _DEEPEST:
        return value
    if kind is tuple:
        return tuple(copy_containers(item, holders, depth + 1) for item in value)
    made = copy(value)
    if kind is list or kind is dict:
        places: Iterable[Any] = made if kind is dict else range(len(made))
        items: Iterable[Any] = made.values() if kind is dict else made
        if not holders.isdisjoint(map(type, items)):  # most lists hold messages or texts, which need no copies
            for place in places:
                made[place] = copy_containers(made[place], holders, depth + 1)
    elif kind is not set:
        made.arg = copy_containers(made.arg, holders, depth + 1)
    return made
