"""kill -9 of the process that runs a graph, at every point: in each node, before and after each call that writes.

python -m tests.langgraph_saver.matrix --store sqlite

For each way to run a graph: what a finished node wrote is there, and the node does not run again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

from batonpass.adapters.langgraph import BatonpassSaver
from tests.kills.matrix import STORES, sample, stores_in

from .kills import CONFIG, NODES, Log, child, graph, warm

WAYS = [(side, durability) for side in ("sync", "async") for durability in ("sync", "async", "exit")]
_AT_ONCE = 4


def kills(
    processes: ForkServerContext,
    way: tuple[str, str],
    new_url: Callable[[], str],
    folder: Path,
    turn: int | None = None,
) -> tuple[int, list[str]]:
    """Kill at every point, or at that turn's sample of them: how many kills there were, and what was wrong."""
    calm = Log(folder / "calm")
    assert _killed(processes, [(new_url(), calm, "")], way) == [False]
    points = [f"in:{name}" for name in NODES]
    points += [f"{when}:{number + 1}" for number in range(len(calm.of("call"))) for when in ("before", "after")]
    points = points if turn is None else sample(points, turn)
    runs = [(new_url(), Log(folder / point.replace(":", "-")), point) for point in points]
    problems: list[str | None] = []
    for first in range(0, len(runs), _AT_ONCE):
        batch = runs[first : first + _AT_ONCE]
        for (url, log, point), dead in zip(batch, _killed(processes, batch, way), strict=True):
            problems.append(_goes_on(url, log, point) if dead else f"{point}: it was not killed")
    return len(points), [problem for problem in problems if problem]


def _killed(processes: ForkServerContext, runs: Sequence[tuple[str, Log, str]], way: tuple[str, str]) -> list[bool]:
    """Run graphs in children, all at once. Returns whether each was killed. (One thread starts and awaits them, because
    the module that forks them is not made for several.)"""
    started = [processes.Process(target=child, args=(url, log, point, *way)) for url, log, point in runs]
    for process in started:
        process.start()
    for process, (_, _, point) in zip(started, runs, strict=True):
        process.join(50)
        assert process.exitcode in (0, -signal.SIGKILL), f"{point}: the child ended with {process.exitcode}"
    return [process.exitcode != 0 for process in started]


def _goes_on(url: str, log: Log, point: str) -> str | None:
    """Run a killed graph to its end in this process; what was wrong, if something was."""
    kept, before = log.kept(), log.of("did")
    with BatonpassSaver.from_url(url) as saver:
        made = graph(saver, log)
        begun = made.get_state(CONFIG).created_at is not None
        trace = made.invoke(None if begun else {"trace": ["in"]}, CONFIG)["trace"]
    if sorted(trace) != sorted(["in", *NODES]):
        return f"{point}: another result: {trace}"
    after = log.of("did")[len(before) :]
    if again := kept.intersection(after):
        return f"{point}: {sorted(again)} ran again though what they wrote was acknowledged"
    if len(after) != len(set(after)):
        return f"{point}: something ran twice: {after}"
    return None


def main() -> None:
    """Run the matrix on one store; ends with 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.langgraph_saver.matrix", description=main.__doc__)
    parser.add_argument("--store", choices=STORES, required=True)
    store: str = parser.parse_args().store
    processes, failed = warm(), False
    with tempfile.TemporaryDirectory(prefix="batonpass-kills-") as name, stores_in(Path(name), store) as new_url:
        for way in WAYS:
            (folder := Path(name) / "-".join(way)).mkdir()
            count, problems = kills(processes, way, lambda: new_url(store), folder)
            failed |= bool(problems)
            sys.stdout.write(
                "\n".join([*problems, f"{', '.join(way)}, {store}: {count} kills, {len(problems)} problems\n"])
            )
            sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
