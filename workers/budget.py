"""Budget: what a delivery's chain may spend, and has spent. No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from ..contracts.errors import BadSetup, OverBudget
from ..contracts.guard import DEFAULT, NOTHING, Guard, Spent

# Where the journal keeps what the hop has spent.
_KEY = "spent"


class Budget:
    """The chain's guard, what earlier hops have spent, and this hop so far: as its journal has it, and what is new.
    Usable from any thread."""

    def __init__(self, journal: Mapping[str, Any]) -> None:
        self.guard = DEFAULT
        self._before = NOTHING
        self._journal = journal
        self._lock = Lock()
        self._joined: dict[str, Spent] = {}  # what children have spent, by their fan-out
        self._hop = self._kept

    def limit(self, guard: Guard, before: Spent) -> None:
        """Take the chain's guard, and what its earlier hops have spent."""
        self.guard, self._before = guard, before

    @property
    def _kept(self) -> Spent:
        kept = self._journal.get(_KEY)
        return Spent(*kept) if kept else NOTHING

    @property
    def spent(self) -> Spent:
        """What the chain has spent."""
        hop = self._before + self._hop if self._hop else self._before
        return sum(self._joined.values(), hop)

    @property
    def news(self) -> dict[str, Any]:
        """The record that the hop's journal lacks; empty if it has all."""
        hop = self._hop
        return {} if hop == self._kept else {_KEY: [hop.tokens, hop.cost]}

    def spend(self, tokens: int, cost: float) -> None:
        """Count what was used."""
        if not (tokens >= 0 and 0 <= cost < math.inf):
            raise BadSetup(f"ctx.spend(tokens={tokens!r}, cost={cost!r}): numbers of at least 0 are spent")
        with self._lock:
            self._hop += Spent(int(tokens), float(cost))

    def children(self, fan: str) -> dict[str, Any]:
        """The record of what its children begin with: theirs is what they spend more."""
        spent = self.spent
        return {f"{_KEY}/{fan}": [spent.tokens, spent.cost]}

    def join(self, fan: str, ended: Iterable[Spent]) -> None:
        """Count what children have spent that have ended. Said again by each replay, so it is in no record."""
        begun = Spent(*self._journal.get(f"{_KEY}/{fan}", (0, 0.0)))
        self._joined[fan] = sum((spent - begun for spent in ended), NOTHING)

    def check(self, about: str) -> None:
        """Raise if more is spent than the guard allows."""
        if over := self.guard.over(self.spent):
            raise OverBudget(f"{about} is over its budget, {over}: redrive it with a guard= that allows more")
