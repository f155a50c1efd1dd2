"""Many seeds: run on several processes, added up, and printed."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from batonpass.contracts.errors import BatonpassError
from tests.simulation.known import PLACES, Violation
from tests.simulation.ledger import Coverage
from tests.simulation.seeds import simulate

_AT_ONCE = 100


@dataclass
class Total:
    """What seeds came to together. `broken` names each seed that failed, and how."""

    seeds: int = 0
    operations: int = 0
    steps: int = 0
    fewest_operations: int = 1_000_000
    fewest_workers: int = 1_000_000
    fewest_kinds: int = 1_000_000
    faults: Counter[str] = field(default_factory=Counter[str])
    coverage: Coverage = field(default_factory=Counter[tuple[str, str, str]])
    broken: dict[int, str] = field(default_factory=dict[int, str])

    def run(self, seed: int) -> None:
        """Run a seed and add it."""
        self.seeds += 1
        try:
            result = simulate(seed, self.coverage)
        except (Violation, BatonpassError, LookupError, ValueError, TypeError, AttributeError) as error:
            # A store that is broken breaks those who use it, too.
            self.broken[seed] = f"{type(error).__name__}: {error}"
            return
        self.operations += result.operations
        self.steps += result.steps
        self.faults += result.faults
        self.fewest_operations = min(self.fewest_operations, result.operations)
        self.fewest_workers = min(self.fewest_workers, result.workers)
        self.fewest_kinds = min(self.fewest_kinds, len(result.faults))

    def add(self, other: Total) -> None:
        """Add what another process found."""
        for name in ("seeds", "operations", "steps"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("fewest_operations", "fewest_workers", "fewest_kinds"):
            setattr(self, name, min(getattr(self, name), getattr(other, name)))
        self.faults += other.faults
        self.coverage += other.coverage
        self.broken |= other.broken


def run_some(first: int, count: int, *, until_broken: bool = False) -> Total:
    """Run seeds in this process."""
    total = Total()
    for seed in range(first, first + count):
        total.run(seed)
        if until_broken and total.broken:
            break
    return total


def run_many(first: int, count: int, processes: int, *, until_broken: bool = False) -> Iterator[Total]:
    """Run seeds on several processes; the sum so far, again and again."""
    total = Total()
    starts = range(first, first + count, _AT_ONCE)
    pieces = [(start, min(_AT_ONCE, first + count - start)) for start in starts]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for part in pool.imap_unordered(_piece, pieces):
            total.add(part)
            yield total
            if until_broken and total.broken:
                return


def _piece(piece: tuple[int, int]) -> Total:
    return run_some(*piece)


def summary(total: Total) -> str:
    """Counts, faults, and a table of the transitions: a line for each place and operation, with what came of it."""
    lines = [
        f"{total.seeds:,} seeds, {total.operations:,} operations, {total.steps:,} steps, "
        f"{total.faults.total():,} faults, {len(total.broken)} violations",
        f"each seed: >= {total.fewest_operations} operations, >= {total.fewest_workers} workers, "
        f">= {total.fewest_kinds} kinds of fault",
        "faults: " + ", ".join(f"{fault} {n:,}" for fault, n in total.faults.most_common()),
        f"{len(total.coverage)} transitions:",
    ]
    ways: dict[tuple[str, str], list[str]] = {}
    for (before, operation, after), n in sorted(total.coverage.items()):
        ways.setdefault((before, operation), []).append(f"{after} {n:,}")
    for before, operation in sorted(ways, key=lambda way: (PLACES.index(way[0]), way[1])):
        lines.append(f"  {before:<15}{operation:<10} -> {'  '.join(ways[before, operation])}")
    return "\n".join(lines)
