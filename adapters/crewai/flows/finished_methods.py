"""FinishedMethods: a flow's method calls in the order in which they finished, replayed in that order."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

# How many turns of the event loop a replay waits for the next recorded call. Between two recorded calls CrewAI only
# computes (2 to 3 turns). If a call has not come by then, it will not come, because the flow's code was changed.
_PATIENCE = 100


class FinishedMethods:
    """Entries are `{"method": name, "result": plain values}`, with "feedback" where a person was asked."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self.entries = [dict(entry) for entry in entries]
        self._recorded = len(self.entries)
        self._positions: dict[str, deque[int]] = defaultdict(deque)
        for position, entry in enumerate(self.entries):
            self._positions[entry["method"]].append(position)
        self._replayed = 0
        self._waiting: list[int] = []

    def recorded(self, method: str) -> int:
        """How many calls of a method had finished when this delivery began."""
        return sum(entry["method"] == method for entry in self.entries[: self._recorded])

    async def next(self, method: str) -> Mapping[str, Any] | None:
        """The record of this call, once all calls that finished before it are replayed. None if the call has to run.

        The order decides which branch wins an `or_`, and a call that runs must see everything that was finished.
        """
        positions = self._positions[method]
        position = positions.popleft() if positions else self._recorded
        await self._turn(position)
        if position == self._recorded:
            return None
        self._replayed = max(self._replayed, position + 1)
        return self.entries[position]

    async def _turn(self, position: int) -> None:
        self._waiting.append(position)
        seen, idle = self._replayed, 0
        while self._replayed < position and not (idle > _PATIENCE and position == min(self._waiting)):
            await asyncio.sleep(0)
            idle = idle + 1 if seen == self._replayed else 0
            seen = self._replayed
        self._waiting.remove(position)
