"""The events of the model store: a list of those that are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..rows import ConsumerGroup, EventRow


class MemoryEvents:
    """Events by number, the first is 1. `now` is set from outside before each operation."""

    def __init__(self) -> None:
        self.now = 0
        self._events: list[dict[str, str]] = []
        self._trimmed = 0
        self._groups: dict[str, ConsumerGroup] = {}

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

    def count_events(self, after: int) -> int:
        return self._trimmed + len(self._events) - max(after, self._trimmed)

    def group(self, name: str) -> ConsumerGroup | None:
        row = self._groups.get(name)
        return replace(row, batches=dict(row.batches)) if row else None

    def groups(self) -> list[ConsumerGroup]:
        return [self._groups[name] for name in sorted(self._groups)]

    def put_group(self, row: ConsumerGroup) -> None:
        self._groups[row.name] = row

    def drop_group(self, name: str) -> None:
        del self._groups[name]
