"""Running the machine: so many examples, and what they consisted of."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from batonpass.coordinator.operations import _OPERATIONS
from tests.model.machine import Machine
from tests.model.stores import Stores
from tests.model.world import Tally


def run_examples(stores: Stores, examples: int, steps: int, *, fixed: int | None) -> Tally:
    """Drive all stores; how often each command ended how. With a number in `fixed`, the examples are those of that
    number every time."""
    tally: Tally = Counter()
    machine: Any = lambda: Machine(stores, tally)  # noqa: E731 - declared as a class, called as a factory
    run_state_machine_as_test(
        machine if fixed is None else seed(fixed)(machine),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=fixed is not None,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
    return tally


def never_done(tally: Tally) -> set[str]:
    """The commands that no example carried out."""
    return {kind.__name__ for kind in _OPERATIONS} - {name for name, how in tally if how == "done"}


def table(tally: Tally) -> str:
    """The counts, a line for each command."""
    lines = [f"{sum(tally.values())} commands on each store"]
    for name in sorted({name for name, _ in tally}):
        ways = sorted(((how, n) for (of, how), n in tally.items() if of == name), key=lambda way: -way[1])
        lines.append(f"  {name:<10} " + "  ".join(f"{how} {n}" for how, n in ways))
    return "\n".join(lines)
