"""python -m benchmarks: run them and print what they measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks import growth, hand_off, restore, save, start, takeover, throughput
from benchmarks.places import Places, places
from benchmarks.report import Result, as_json, as_table
from benchmarks.timing import QUICK, Effort

BENCHMARKS: dict[str, Callable[[Places, Effort], list[Result]]] = {
    "save-redis": save.on_redis,
    "save-sqlite": save.on_sqlite,
    "restore-redis": restore.on_redis,
    "growth-redis": growth.on_redis,
    "growth-sqlite": growth.on_sqlite,
    "hand-off-redis": hand_off.on_redis,
    "start-redis": start.on_redis,
    "start-sqlite": start.on_sqlite,
    "throughput-redis": throughput.on_redis,
    "throughput-sqlite": throughput.on_sqlite,
    "takeover-redis": takeover.on_redis,
    "takeover-sqlite": takeover.on_sqlite,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks whose names begin as asked, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}, or its beginning")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="only show that they run: the figures mean nothing")
    options = parser.parse_args(arguments)
    chosen = [run for name, run in BENCHMARKS.items() if name.startswith(options.only)]
    if not chosen:
        parser.error(f"no benchmark is named {options.only!r}: there are {', '.join(BENCHMARKS)}")
    effort = QUICK if options.quick else Effort()
    with places() as where:
        if not options.json:
            print(where.about(), file=sys.stderr)
        results = [result for run in chosen for result in run(where, effort)]
    print(as_json(results) if options.json else as_table(results))


if __name__ == "__main__":
    main()
