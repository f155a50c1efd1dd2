"""Strangers: types that msgpack itself packs and reads, without asking the codec."""

from __future__ import annotations

from typing import Any

import msgpack

from .builtin_types import FEW, NotPlain, check_hashes

# Would be packed as bytes, or as extension types of ours. A Timestamp would also be read.
_STRANGERS: frozenset[type[Any]] = frozenset({bytearray, memoryview, msgpack.ExtType, msgpack.Timestamp})
_LEAVES: frozenset[type[Any]] = frozenset({str, int, float, bool, bytes, type(None)})


def without_strangers(value: Any) -> Any:
    """The value. `NotPlain` if its lists and dicts contain a stranger, or a dict that would take quadratic time to
    read.

    Without recursion: msgpack packs and reads a thousand levels, wherever on Python's stack it is called.
    """
    left: list[Any] = [value]
    while left:
        each = left.pop()
        kind = type(each)  # pyright: ignore[reportUnknownVariableType]
        if kind is dict:
            if len(each) > FEW:
                check_hashes(each)
            left += [item for item in each.values() if type(item) not in _LEAVES]
            left += [key for key in each if type(key) not in _LEAVES]
        elif kind is list:
            left += [item for item in each if type(item) not in _LEAVES]
        elif kind in _STRANGERS:
            raise NotPlain(f"a {kind.__qualname__} does not come back as one: use bytes")
    return value
