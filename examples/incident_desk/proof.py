"""What the evidence file proves: which unit of work was begun how often, by which process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import tools
from .contracts import Figure
from .figures import figures
from .log import read


@dataclass(frozen=True)
class Unit:
    """A unit of work ("agent 1", a task's name, "tool excerpt"), and the processes that began it, in order."""

    stage: str
    name: str
    pids: tuple[int, ...]

    @property
    def label(self) -> str:
        """The unit as the evidence file names it."""
        return f"{self.stage}: {self.name}"

    @property
    def is_step(self) -> bool:
        """Whether it is a step of its own, not a tool inside of one."""
        return not self.name.startswith("tool ")


def units(evidence: Path) -> list[Unit]:
    """All units, in the order in which each was first begun."""
    begun: dict[str, list[int]] = {}
    rows = evidence.read_text().splitlines() if evidence.exists() else []
    for row in rows:
        pid, _, label = row.partition(" ")
        begun.setdefault(label, []).append(int(pid))
    found: list[Unit] = []
    for label, pids in begun.items():
        stage, _, name = label.partition(": ")
        found.append(Unit(stage, name, tuple(pids)))
    return found


def begun_by(evidence: Path, label: str) -> tuple[int, ...]:
    """The processes that began a unit."""
    return next((unit.pids for unit in units(evidence) if unit.label == label), ())


def repeated(evidence: Path, held: str, owners: Sequence[int]) -> list[Unit]:
    """Units that were begun again after they had finished.

    Each unit may be begun once; the one in which workers were stopped (`held`) once by each of its `owners`.
    """
    return [
        unit
        for unit in units(evidence)
        if (list(unit.pids) != list(owners) if unit.label == held else len(unit.pids) > 1)
    ]


def recount(log: Path) -> list[Figure]:
    """The figures of a log, counted here and now, past all agents."""
    lines = list(read(log))
    levels = tools.count_levels(lines)
    worst = tools.worst_level(levels)
    return figures(
        [
            ("count_levels", levels.model_dump()),
            ("find_bursts", tools.find_bursts(lines, worst).model_dump()),
            ("top_signatures", tools.top_signatures(lines, worst).model_dump()),
            ("first_occurrences", tools.first_occurrences(lines, worst).model_dump()),
        ]
    )
