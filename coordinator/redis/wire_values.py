"""The wire format of single values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgpack

Arg = str | int | bytes


def read_text(value: Any) -> str:
    """A text in a reply."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def pairs(mapping: Mapping[str, bytes]) -> Iterable[Arg]:
    """Names and values in turn."""
    return (part for pair in mapping.items() for part in pair)


def told(about: Mapping[str, str]) -> bytes:
    """More fields of an event: names and texts in turn, in one piece, which `told` in lua/lib/base.lua unpacks."""
    packed: bytes = msgpack.packb([text for pair in about.items() for text in pair]) if about else b""
    return packed


def flat(items: list[bytes]) -> dict[str, bytes]:
    """Names and values from a list that has them in turn."""
    return {items[i].decode(): items[i + 1] for i in range(0, len(items), 2)}


def unpacked(items: bytes) -> list[Any]:
    """A list that a script packed into one piece (by `cmsgpack`, which every server has)."""
    values: list[Any] = msgpack.unpackb(items, raw=True)
    return values
