"""Faults: what strikes, how often, and how often it did."""

from __future__ import annotations

from collections import Counter
from random import Random

# How often each strikes, per command or per tick of time. A seed takes some of them, each at half its rate, its rate,
# or more.
ON_A_COMMAND = {"lost request": 0.02, "late request": 0.02, "duplicate": 0.03, "lost reply": 0.04, "late wake-up": 0.05}
ON_A_TICK = {"crash": 0.012, "pause": 0.012, "clock forward": 0.008, "clock back": 0.008, "restart": 0.002}


class Faults:
    """The faults of a seed: one draw decides whether any strikes, and which."""

    def __init__(self, random: Random) -> None:
        self.struck: Counter[str] = Counter()
        self._random = random
        kinds = [*ON_A_COMMAND, *ON_A_TICK]
        chosen = set(random.sample(kinds, random.randint(5, len(kinds))))
        self._on_a_command = self._some(ON_A_COMMAND, chosen)
        self._on_a_tick = self._some(ON_A_TICK, chosen)

    def _some(self, rates: dict[str, float], chosen: set[str]) -> list[tuple[float, str]]:
        """Upper bounds of the draws that mean each fault."""
        bounds: list[tuple[float, str]] = []
        below = 0.0
        for fault, rate in rates.items():
            if fault in chosen:
                below += rate * self._random.choice([0.5, 1, 1, 3])
                bounds.append((below, fault))
        return bounds

    def on_a_command(self) -> str:
        """The fault that a command meets, "" for none."""
        return self._draw(self._on_a_command)

    def on_a_tick(self) -> str:
        """What happens now, "" for nothing."""
        return self._draw(self._on_a_tick)

    def _draw(self, bounds: list[tuple[float, str]]) -> str:
        drawn = self._random.random()
        if not bounds or drawn >= bounds[-1][0]:
            return ""
        fault = next(fault for below, fault in bounds if drawn < below)
        self.struck[fault] += 1
        return fault

    def cease(self) -> None:
        """No more of them."""
        self._on_a_command = self._on_a_tick = []
