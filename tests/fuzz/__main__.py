"""Mutate stored records and read them: `python -m tests.fuzz --records 1000000 [--first 0]`.

Prints counts and the seeds of findings; ends with 1 if there are any. A seed alone repeats its record.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from .records import kinds
from .running import Fuzzer, Tally

_STEP = 10_000


def main() -> None:
    """Run the seeds, tell what came out."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=20_000, help="how many records to mutate")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", choices=list(kinds()), help="records of this kind alone")
    asked = parser.parse_args()
    fuzzer, tally = Fuzzer(asked.only), Tally()
    began = time.monotonic()
    for done in range(asked.records):
        fuzzer.run(asked.first + done, tally)
        if (done + 1) % _STEP == 0:
            rate = (done + 1) / (time.monotonic() - began)
            sys.stderr.write(f"{done + 1:,} records, {rate:,.0f}/s, {len(tally.findings)} findings\n")
    took = time.monotonic() - began
    lines = [f"{asked.records:,} records, seeds {asked.first} to {asked.first + asked.records - 1}, in {took:.0f} s"]
    for (name, outcome), count in sorted(tally.counts.items()):
        lines.append(f"  {name:<18}{outcome:<12}{count:>10,}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    lines.append(f"slowest {tally.slowest * 1000:.0f} ms, {peak} MB at most, {len(tally.findings)} findings")
    lines += tally.findings[:20]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(bool(tally.findings))


if __name__ == "__main__":
    main()
