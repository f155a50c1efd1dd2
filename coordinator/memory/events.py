"""The events of the model store: a list of those that are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..rows import EVENTS_PER_MS, ConsumerGroup, EventRow


class MemoryEvents:
    """Events by number. `now` is set from outside before each operation."""

    def __init__(self) -> None:
        self.now = 0
        self._events: list[dict[str, str]] = []
        self._event_before = 0  # the number of the event before the first of them
        self._trimmed = 0
        self._groups: dict[str, ConsumerGroup] = {}

    def add_event(self, fields: Mapping[str, str]) -> int:
        if not self._events:
            # By the time, like SQLite's: what a reader has kept of an earlier process must not fit this one's.
            self._event_before = max(self._event_before, self.now * EVENTS_PER_MS - 1)
        self._events.append({**fields, "time": str(self.now)})
        return self._event_before + len(self._events)

    def events(self, after: str, limit: int) -> list[EventRow]:
        start = max(int(after or 0) - self._event_before, 0)
        first = self._event_before + start + 1
        return [EventRow(str(first + i), fields) for i, fields in enumerate(self._events[start : start + limit])]

    def last_event(self) -> str:
        return str(self._event_before + len(self._events))

    def trimmed(self) -> str:
        return str(self._trimmed)

    def trim_events(self, keep: int, limit: int) -> int:
        over = min(max(len(self._events) - keep, 0), limit)
        del self._events[:over]
        if over:
            self._event_before = self._trimmed = self._event_before + over
        return over

    def count_events(self, after: int, last: int | None = None) -> int:
        newest = self._event_before + len(self._events)
        return max((newest if last is None else last) - max(after, self._event_before), 0)

    def group(self, name: str) -> ConsumerGroup | None:
        row = self._groups.get(name)
        return replace(row, batches=dict(row.batches)) if row else None

    def groups(self) -> list[ConsumerGroup]:
        return [self._groups[name] for name in sorted(self._groups)]

    def put_group(self, row: ConsumerGroup) -> None:
        self._groups[row.name] = row

    def drop_group(self, name: str) -> None:
        del self._groups[name]
