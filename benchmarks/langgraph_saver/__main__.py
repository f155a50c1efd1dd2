"""python -m benchmarks.langgraph_saver: run them and print what they measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks import command
from benchmarks.langgraph_saver import chat, crowd, deltas, growth, supersteps
from benchmarks.langgraph_saver.contest import Contest
from benchmarks.report import Result

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
    """Run the benchmarks that the arguments ask for."""
    asked = command.parser("python -m benchmarks.langgraph_saver", [*BENCHMARKS])
    asked.add_argument("--postgres", default="", metavar="URL", help="also AsyncPostgresSaver, on this database")
    command.run(
        asked,
        arguments,
        BENCHMARKS,
        lambda run, where, effort, options: run(Contest(where, effort, options.postgres)),
    )


if __name__ == "__main__":
    main()
