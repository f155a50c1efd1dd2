"""Budget: what a job may spend, and has spent. No I/O."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from threading import Lock
from typing import Any

from ..contracts.errors import BadSetup, OverBudget
from ..contracts.guard import DEFAULT, NOTHING, Spent
from ..contracts.handoff import Envelope
from ..coordinator.commands import SPENT

ALLOW_MORE = "redrive it with a guard= (batonpass redrive JOB --guard JSON) that allows more"


class Budget:
    """The job's guard, what earlier hops have spent, and what this hop has spent so far (in its journal, or not yet).
    Safe to use from any thread."""

    def __init__(self, journal: Mapping[str, Any]) -> None:
        self.guard = DEFAULT
        self.born = NOTHING
        self._before = NOTHING
        self._journal = journal
        self._lock = Lock()
        self._joined: dict[str, Spent] = {}  # what each child has spent: it may be one of several fan-outs
        self._counted: set[str] = set()  # the fan-outs that were joined
        self.open: dict[str, int] = {}
        """Fan-outs that may still have something to count, and how many children they have."""
        self._hop = self._kept[0]

    def limit(self, envelope: Envelope) -> None:
        """Take the job's guard, what its earlier hops have spent, and what was spent when the job was made."""
        self.guard, self._before, self.born = envelope.guard, envelope.spent, envelope.born

    @property
    def _kept(self) -> tuple[Spent, Spent]:
        """What the journal says was spent: in this hop, and in all."""
        kept = self._journal.get(SPENT)
        return (Spent(*kept[:2]), Spent(*kept[2:4])) if kept else (NOTHING, NOTHING)

    @property
    def spent(self) -> Spent:
        """What the job has spent."""
        hop = self._before + self._hop if self._hop else self._before
        return sum(self._joined.values(), hop)

    @property
    def in_all(self) -> Spent:
        """What the job has spent, for the job that waits for it. A replay that has not reached all of its fan-outs yet
        knows less."""
        return self._kept[1].at_least(self.spent)

    @property
    def news(self) -> dict[str, Any]:
        """The record to add to the hop's journal. Empty if the journal is up to date. The record ends with the fan-outs
        that it counts."""
        hop, in_all, (known, known_in_all) = self._hop, self.in_all, self._kept
        if hop == known and (in_all == known_in_all or not self._counted):
            return {}
        kept = self._journal.get(SPENT)
        fans = sorted({*self._counted, *(kept[6] if kept else ())})
        return {SPENT: [*_numbers(hop, in_all, in_all - self.born), fans]}

    @property
    def first_news(self) -> list[Any] | None:
        """The next hop's first record. None if nothing was spent."""
        spent = self.spent
        return [*_numbers(NOTHING, spent, spent - self.born), []] if spent else None

    @property
    def at_the_end(self) -> list[Any]:
        """What to record for a job that ends without a result. Everything is counted, so it lists no fan-outs."""
        return _numbers(self._hop, self.in_all, self.in_all - self.born)

    def spend(self, tokens: int, cost: float) -> None:
        """Count what was used."""
        if not (tokens >= 0 and 0 <= cost <= sys.float_info.max):
            raise BadSetup(f"ctx.spend(tokens={tokens!r}, cost={cost!r}): both must be 0 or more")
        with self._lock:
            self._hop += Spent(int(tokens), float(cost))

    def join(self, fan: str, ended: Mapping[str, Spent]) -> None:
        """Count what each ended child has spent. Each replay counts it again, so it is in no record."""
        self._counted.add(fan)
        for child, spent in ended.items():
            self._joined[child] = spent.at_least(self._joined.get(child, NOTHING))

    def counts(self, fan: str) -> bool:
        """Whether what the children of this fan-out have spent is counted."""
        return fan in self._counted

    def check(self, about: str) -> None:
        """Raise if more was spent than the guard allows."""
        if self.guard.limits_spending and (over := self.guard.over(self.spent)):
            raise OverBudget(f"{about} is over its budget ({over}): {ALLOW_MORE}")


def _numbers(*spent: Spent) -> list[Any]:
    return [number for each in spent for number in (each.tokens, each.cost)]
