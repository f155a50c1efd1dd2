"""python -m benchmarks.langgraph_saver: run them and print what they measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks.langgraph_saver import chat, crowd, deltas, growth, supersteps
from benchmarks.langgraph_saver.contest import Contest
from benchmarks.places import places
from benchmarks.report import Result, as_json, as_table
from benchmarks.timing import QUICK, Effort

BENCHMARKS: dict[str, Callable[[Contest], list[Result]]] = {
    "chat": chat.run,
    "growth-redis": growth.on_redis,
    "growth-sqlite": growth.on_sqlite,
    "deltas": deltas.run,
    "supersteps-async": supersteps.run_async,
    "supersteps-sync": supersteps.run_sync,
    "crowd-async": crowd.run_async,
    "crowd-sync": crowd.run_sync,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks whose names begin as asked, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.langgraph_saver", description=main.__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}, or its beginning")
    parser.add_argument("--postgres", default="", metavar="URL", help="also AsyncPostgresSaver, on this database")
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
        results = [result for run in chosen for result in run(Contest(where, effort, options.postgres))]
    print(as_json(results) if options.json else as_table(results))


if __name__ == "__main__":
    main()
