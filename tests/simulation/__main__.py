"""`python -m tests.simulation --seeds 100000`: many seeds, what they consisted of; `--seed N`: one, step by step."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.simulation.known import Violation
from tests.simulation.report import Total, run_many, run_some, summary
from tests.simulation.seeds import simulate


def main() -> None:
    """Ends with 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--until-broken", action="store_true", help="stop at the first violation")
    parser.add_argument("--seed", type=int, help="run this one alone, and tell each step")
    asked = parser.parse_args()
    if asked.seed is not None:
        sys.exit(_tell(asked.seed))
    began = time.monotonic()
    total = Total()
    if asked.processes == 1:
        total = run_some(asked.first, asked.seeds, until_broken=asked.until_broken)
    else:
        for total in run_many(asked.first, asked.seeds, asked.processes, until_broken=asked.until_broken):
            if total.seeds % 5000 == 0:
                rate = total.seeds / (time.monotonic() - began)
                sys.stderr.write(f"{total.seeds:,} seeds, {rate:.0f}/s, {len(total.broken)} violations\n")
    took = time.monotonic() - began
    say(summary(total))
    say(f"{took:.0f} s, {total.seeds / took:.0f} seeds/s on {asked.processes} processes")
    for seed, why in sorted(total.broken.items())[:10]:
        say(f"seed {seed}: {why}\n  again, step by step: python -m tests.simulation --seed {seed}")
    sys.exit(bool(total.broken))


def say(text: str) -> None:
    """A line."""
    sys.stdout.write(f"{text}\n")


def _tell(seed: int) -> int:
    try:
        result = simulate(seed, Counter(), say)
    except Violation as violation:
        say(f"seed {seed}: {violation}")
        return 1
    say(f"seed {seed}: {result.operations} operations, {result.workers} workers, {dict(result.faults)}: no violation")
    return 0


if __name__ == "__main__":
    main()
