"""The events of the model store: a list of those that are left."""

from __future__ import annotations

from collections.abc import Mapping

from ..rows import EventRow


class MemoryEvents:
    """Events by number, the first is 1. `now` is set from outside before each operation."""

    def __init__(self) -> None:
        self.now = 0
        self._events: list[dict[str, str]] = []
        self._trimmed = 0

    def add_event(self, fields: Mapping[str, str]) -> int:
        self._events.append({**fields, "time": str(self.now)})
        return self._trimmed + len(self._events)

    def events(self, after: str, limit: int) -> list[EventRow]:
        start = max(int(after or 0) - self._trimmed, 0)
        first = self._trimmed + start + 1
        return [EventRow(str(first + i), fields) for i, fields in enumerate(self._events[start : start + limit])]

    def last_event(self) -> str:
        return str(self._trimmed + len(self._events))

    def trimmed(self) -> str:
        return str(self._trimmed)

    def trim_events(self, keep: int, limit: int) -> int:
        over = min(max(len(self._events) - keep, 0), limit)
        del self._events[:over]
        self._trimmed += over
        return over
