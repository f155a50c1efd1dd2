"""Containers: copies of values that must not change while they are being saved."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from ..contracts.builtin_types import class_of

HOLDERS: frozenset[type[Any]] = frozenset({list, dict, tuple, set})
# Deeper ones are left to the codec, which refuses what is too deep.
_DEEPEST = 100


def copy_containers(value: Any, holders: frozenset[type[Any]] = HOLDERS) -> Any:
    """The value, with copies of its containers. A graph continues while its checkpoint is put. If a node appended to a
    list of its state while that is packed, neither the old list nor the new one would be stored.

    Each container is copied in one step, in which no other thread can run. `holders` other than lists, dicts, tuples
    and sets hold a value in their `arg`.
    """
    return _copied(value, holders, 0, {})


def _copied(value: Any, holders: frozenset[type[Any]], depth: int, known: dict[int, tuple[Any, Any]]) -> Any:
    """`known` are containers of containers with their copies, by id. One that lies in several others is copied once,
    because in a value that contains itself each lies in all others."""
    kind = class_of(value)
    if kind not in holders or depth > _DEEPEST:
        return value
    if kind is tuple:
        return tuple(_copied(item, holders, depth + 1, known) for item in value)
    made = copy(value)
    if kind is list or kind is dict:
        places: Iterable[Any] = made if kind is dict else range(len(made))
        items: Iterable[Any] = made.values() if kind is dict else made
        if not holders.isdisjoint(map(type, items)):  # most lists hold messages or texts, which need no copies
            if id(value) in known:
                return known[id(value)][1]
            known[id(value)] = value, made
            for place in places:
                made[place] = _copied(made[place], holders, depth + 1, known)
    elif kind is not set:
        made.arg = _copied(made.arg, holders, depth + 1, known)
    return made
