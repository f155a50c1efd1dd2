"""Timing: two things done in turns, and how they compare."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import median

# Seconds: what processor time is counted in. A floor that took less counts as this.
_TICK = 0.01


@dataclass(frozen=True)
class Effort:
    """How much is measured. The quick one only shows that everything runs: its figures mean nothing."""

    rounds: int = 7
    calls: int = 300
    jobs: int = 60
    kills: int = 5
    lease: float | None = None
    writers: int = 8
    steps: int = 1000
    forks: int = 100
    waiting: int = 10_000
    kept: int = 100_000


QUICK = Effort(rounds=1, calls=1, jobs=2, kills=1, lease=0.5, writers=2, steps=60, forks=3, waiting=20, kept=20)


@dataclass
class Comparison:
    """Seconds that each call took, and the ratio of the medians of each round."""

    ours: list[float] = field(default_factory=list[float])
    floor: list[float] = field(default_factory=list[float])
    ratios: list[float] = field(default_factory=list[float])

    def add_round(self, ours: list[float], floor: list[float]) -> None:
        """Note a round."""
        self.ours += ours
        self.floor += floor
        self.ratios.append(median(ours) / (median(floor) or _TICK))

    @property
    def ratio(self) -> float:
        """Ours by the floor: the median of the rounds."""
        return median(self.ratios)


def percentile(seconds: list[float], percent: int) -> float:
    """The smallest of the values that `percent` % of them do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def compare(effort: Effort, ours: Callable[[int], object], floor: Callable[[int], object]) -> Comparison:
    """Call both in turns, after a round that does not count. They are given the call's number."""
    comparison = Comparison()
    for round_ in range(effort.rounds + 1):
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(round_ * effort.calls, (round_ + 1) * effort.calls):
            for call, taken in zip((ours, floor), times, strict=True):
                start = time.perf_counter()
                call(number)
                taken.append(time.perf_counter() - start)
        if round_:
            comparison.add_round(*times)
    return comparison


async def acompare(
    effort: Effort, ours: Callable[[int], Awaitable[object]], floor: Callable[[int], Awaitable[object]]
) -> Comparison:
    """`compare` for async code."""
    comparison = Comparison()
    for round_ in range(effort.rounds + 1):
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(round_ * effort.calls, (round_ + 1) * effort.calls):
            for call, taken in zip((ours, floor), times, strict=True):
                start = time.perf_counter()
                await call(number)
                taken.append(time.perf_counter() - start)
        if round_:
            comparison.add_round(*times)
    return comparison
