"""kill -9 of the process that runs a graph, at every point: what a finished node wrote is there, and the node does not
run again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from batonpass.adapters.langgraph import BatonpassSaver

from .kills import CONFIG, NODES, Log, child, graph, warm

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.timeout(180)]
AT_ONCE = 4


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    return warm()


def killed(
    processes: ForkServerContext, runs: Sequence[tuple[str, Log, str]], side: str, durability: str
) -> list[bool]:
    """Run graphs in children, all at once: whether each was killed. (One thread starts and awaits them: the module that
    forks them is not made for several.)"""
    started = [processes.Process(target=child, args=(url, log, point, side, durability)) for url, log, point in runs]
    for process in started:
        process.start()
    for process, (_, _, point) in zip(started, runs, strict=True):
        process.join(50)
        assert process.exitcode in (0, -signal.SIGKILL), f"{point}: the child ended with {process.exitcode}"
    return [process.exitcode != 0 for process in started]


# Each way to write, on one of the stores: all twelve take minutes.
WAYS = [
    *(("sync", "sync", "sqlite"), ("sync", "async", "redis"), ("sync", "exit", "sqlite")),
    *(("async", "sync", "redis"), ("async", "async", "sqlite"), ("async", "exit", "redis")),
]


@pytest.mark.parametrize(("side", "durability", "store"), WAYS)
def test_no_finished_node_runs_again(
    side: str, durability: str, store: str, new_url: Callable[[str], str], tmp_path: Path, processes: ForkServerContext
) -> None:
    calm = Log(tmp_path / "calm")
    assert killed(processes, [(new_url(store), calm, "")], side, durability) == [False]
    calls = len(calm.of("call"))
    points = [f"in:{name}" for name in NODES]
    points += [f"{when}:{number}" for number in range(1, calls + 1) for when in ("before", "after")]
    runs = [(new_url(store), Log(tmp_path / point.replace(":", "-")), point) for point in points]
    problems: list[str | None] = []
    for first in range(0, len(runs), AT_ONCE):
        batch = runs[first : first + AT_ONCE]
        for (url, log, point), dead in zip(batch, killed(processes, batch, side, durability), strict=True):
            problems.append(goes_on(url, log, point) if dead else f"{point}: it was not killed")
    assert not any(problems), "\n".join(filter(None, problems))


def goes_on(url: str, log: Log, point: str) -> str | None:
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
