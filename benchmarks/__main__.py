"""python -m benchmarks: run them and print what they measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks import (
    backlog,
    command,
    growth,
    hand_off,
    jobs,
    restore,
    save,
    start,
    steps,
    takeover,
    throughput,
    turns,
)
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Effort

BENCHMARKS: dict[str, Callable[[Places, Effort], list[Result]]] = {
    "save-redis": save.on_redis,
    "save-sqlite": save.on_sqlite,
    "restore-redis": restore.on_redis,
    "growth-redis": growth.on_redis,
    "growth-sqlite": growth.on_sqlite,
    "hand-off-redis": hand_off.on_redis,
    "jobs-redis": jobs.on_redis,
    "jobs-sqlite": jobs.on_sqlite,
    "start-redis": start.on_redis,
    "start-sqlite": start.on_sqlite,
    "throughput-redis": throughput.on_redis,
    "throughput-sqlite": throughput.on_sqlite,
    "turns-redis": turns.on_redis,
    "turns-sqlite": turns.on_sqlite,
    "steps-redis": steps.on_redis,
    "steps-sqlite": steps.on_sqlite,
    "backlog-redis": backlog.on_redis,
    "backlog-sqlite": backlog.on_sqlite,
    "takeover-redis": takeover.on_redis,
    "takeover-sqlite": takeover.on_sqlite,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that the arguments ask for."""
    asked = command.parser("python -m benchmarks", [*BENCHMARKS])
    command.run(asked, arguments, BENCHMARKS, lambda run, where, effort, _: run(where, effort))


if __name__ == "__main__":
    main()
