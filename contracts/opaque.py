"""Opaque: what stands in a state for an object that is not made here. It can show what the object holds."""

from __future__ import annotations

from typing import Any


class Opaque:
    """A base of such values. `type_name` is the object's class, `packed` how it is stored."""

    __slots__ = ()

    type_name: str
    packed: bytes

    @property
    def value(self) -> Any:
        """What is stored, as plain values; `Corrupted` if it can't be read."""
        raise NotImplementedError

    @property
    def closed(self) -> str:
        """Why nothing in it can be changed, and what to do."""
        raise NotImplementedError
