"""Beside: keeps values for objects without touching these, which may have slots, be frozen, or compare all they
hold."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class Beside(Generic[V]):
    """A value for an object, found by the object's identity, for as long as it lives."""

    def __init__(self) -> None:
        self._all: dict[int, tuple[weakref.ref[Any], V]] = {}

    def get(self, obj: object) -> V | None:
        """The object's value."""
        found = self._all.get(id(obj))
        return found[1] if found is not None and found[0]() is obj else None

    def put(self, obj: object, value: V) -> None:
        """Set the object's value."""
        at = id(obj)
        self._all[at] = weakref.ref(obj, lambda ref: self._forget(at, ref)), value

    def __len__(self) -> int:
        return len(self._all)

    def _forget(self, at: int, ref: weakref.ref[Any]) -> None:
        found = self._all.get(at)
        if found is not None and found[0] is ref:
            del self._all[at]
