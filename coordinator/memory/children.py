"""The fan-outs of the model store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...contracts.job import ENDED
from ..commands import Child
from ..rows import JobRow, OutcomeRow


class MemoryChildren:
    """What jobs have put by, how their children ended, and what is left to do. `now` is set from outside."""

    def __init__(self) -> None:
        self.now = 0
        self._jobs: dict[str, JobRow] = {}
        self._staged: dict[str, list[Child]] = {}
        self._outcomes: dict[str, dict[tuple[str, int], OutcomeRow]] = {}
        self._chores: dict[tuple[str, str], int] = {}

    def stage(self, job_id: str, children: Sequence[Child]) -> None:
        self._staged.setdefault(job_id, []).extend(children)

    def staged(self, job_id: str, limit: int) -> list[Child]:
        return self._staged.get(job_id, [])[:limit]

    def count_staged(self, job_id: str) -> int:
        return len(self._staged.get(job_id, []))

    def unstage(self, job_id: str, first: int | None = None) -> None:
        staged = self._staged.pop(job_id, [])
        if first is not None and first < len(staged):
            self._staged[job_id] = staged[first:]

    def unfinished(self, fan: str, limit: int) -> list[JobRow]:
        left = [row for row in self._jobs.values() if row.brood == fan and row.state not in ENDED]
        return [replace(row) for row in sorted(left, key=lambda row: (row.number, row.id))[:limit]]

    def put_outcome(self, job_id: str, fan: str, row: OutcomeRow) -> None:
        self._outcomes.setdefault(job_id, {})[fan, row.number] = row

    def outcomes(self, job_id: str, fan: str, start: int, limit: int) -> list[OutcomeRow]:
        kept = self._outcomes.get(job_id, {})
        return [kept[fan, number] for number in range(start, start + limit) if (fan, number) in kept]

    def all_outcomes(self, job_id: str) -> list[tuple[str, OutcomeRow]]:
        return [(fan, row) for (fan, _), row in sorted(self._outcomes.get(job_id, {}).items())]

    def drop_outcomes(self, job_id: str) -> None:
        self._outcomes.pop(job_id, None)

    def put_chore(self, kind: str, about: str) -> None:
        self._chores.setdefault((kind, about), self.now)

    def chores(self, kind: str, limit: int) -> list[str]:
        found = sorted((at, about) for (of, about), at in self._chores.items() if of == kind)
        return [about for _, about in found[:limit]]

    def drop_chore(self, kind: str, about: str) -> None:
        self._chores.pop((kind, about), None)
