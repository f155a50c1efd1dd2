"""The lanes of the model store: starts and gates. Who runs and waits in one is said by the jobs."""

from __future__ import annotations


class MemoryLanes:
    """When deliveries of lanes were started, and when their lines move. `now` is set before each operation."""

    now: int

    def __init__(self) -> None:
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._gates: dict[str, int] = {}

    def nth_start(self, lane: str, n: int, after: int) -> int:
        started = sorted(at for at, _ in self._starts.get(lane, ()) if at > after)
        return started[-n] if n <= len(started) else 0

    def add_start(self, lane: str, at: int, until: int) -> None:
        self._starts.setdefault(lane, []).append((at, until))

    def drop_old_starts(self, limit: int) -> None:
        old = [lane for lane, each in self._starts.items() if each[0][1] <= self.now]
        for lane in old[:limit]:
            left = [start for start in self._starts.pop(lane) if start[1] > self.now]
            if left:
                self._starts[lane] = left

    def gate(self, lane: str) -> int:
        return self._gates.get(lane, 0)

    def put_gate(self, lane: str, at: int) -> None:
        self._gates[lane] = at

    def drop_gate(self, lane: str) -> None:
        self._gates.pop(lane, None)

    def due_gates(self, limit: int, *, early: bool = False) -> list[str]:
        due = [(at, lane) for lane, at in self._gates.items() if early or at <= self.now]
        return [lane for _, lane in sorted(due)[:limit]]
