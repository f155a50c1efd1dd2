"""Numbers: an object's states refer to the objects inside it by numbers, which are the same in all of its states."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from .beside import Beside


class Numbers:
    """The numbers of the objects inside of one object. Each keeps its number, and no number is used twice."""

    def __init__(self, known: Mapping[int, Any] | None = None) -> None:
        self._known: Beside[int] = Beside()
        self._last = 0
        self._lock = Lock()
        for number, obj in (known or {}).items():
            self._known.put(obj, number)
            self._last = max(self._last, number)

    def of(self, obj: object) -> int:
        """The object's number."""
        with self._lock:
            number = self._known.get(obj)
            if number is None:
                self._last = number = self._last + 1
                self._known.put(obj, number)
            return number


_all: Beside[Numbers] = Beside()
_lock = Lock()


def numbers_in(obj: object) -> Numbers:
    """The numbers that states of the object use."""
    with _lock:
        found = _all.get(obj)
        if found is None:
            found = Numbers()
            _all.put(obj, found)
        return found


def learn(obj: object, known: Mapping[int, Any]) -> None:
    """From now on, the object's states use the numbers of the state that it has loaded."""
    with _lock:
        _all.put(obj, Numbers(known))
