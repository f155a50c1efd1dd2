"""Command: benchmarks from the command line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from benchmarks.places import Places, places
from benchmarks.report import Result, as_json, as_table
from benchmarks.timing import QUICK, Effort

B = TypeVar("B")


def parser(prog: str, names: Sequence[str]) -> ArgumentParser:
    """The options that all benchmarks share."""
    made = ArgumentParser(prog=prog, description="Run the benchmarks whose names begin as asked, all by default.")
    made.add_argument("--only", default="", metavar="NAME", help=f"one of {', '.join(names)}, or its beginning")
    made.add_argument("--json", action="store_true", help="one JSON object a line")
    made.add_argument("--quick", action="store_true", help="only show that they run: the figures mean nothing")
    made.add_argument(
        "--kept",
        type=int,
        default=Effort.kept,
        metavar="COUNT",
        help="finished jobs in the store of `backlog` (default: %(default)s)",
    )
    return made


def run(
    asked: ArgumentParser,
    arguments: Sequence[str] | None,
    benchmarks: Mapping[str, B],
    start: Callable[[B, Places, Effort, Namespace], list[Result]],
) -> None:
    """Run the benchmarks that are asked for by `start`, and print what they measured."""
    options = asked.parse_args(arguments)
    chosen = [each for name, each in benchmarks.items() if name.startswith(options.only)]
    if not chosen:
        asked.error(f"no benchmark is named {options.only!r}: there are {', '.join(benchmarks)}")
    effort = QUICK if options.quick else Effort(kept=options.kept)
    with places() as where:
        if not options.json:
            print(where.about(), file=sys.stderr)
        results = [result for each in chosen for result in start(each, where, effort, options)]
    print(as_json(results) if options.json else as_table(results))
