"""SIGKILL at every boundary of every agent of the test apps: all of it, or a sample.

python -m tests.kills.matrix --kind crewai --store sqlite [--agents react native]

Each agent first runs undisturbed. Then, once for each point, its worker is killed there, in the middle of a piece of
work or before or after a write, and another one finishes the job: the same result, nothing finished ran again.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from uuid import uuid4

import batonpass as bp
from tests.harness.redis import RedisServer
from tests.house.tree import ROOT
from tests.kills.harness import Run, Zygote, repeated_too_often

# The apps of each kind, with their agents: every construct of a framework that can be killed in its middle.
APPS: dict[str, dict[str, tuple[str, ...]]] = {
    "function": {"tests.apps.function_app": ("async", "sync", "pass")},
    "langgraph": {"tests.apps.langgraph_app": ("line", "fan", "ask", "gate", "react", "nested", "twice", "lend")},
    "crewai": {
        "tests.apps.crewai_app": ("pair", "async", "line", "join", "ask", "cycle", "again"),
        "tests.crews.app": ("sequential", "hierarchical", "gap", "react", "native", "nested", "anested"),
    },
    "autogen": {
        "tests.apps.autogen_app": (
            *("review", "panel", "desk", "refund", "guided", "pipeline", "lookup", "search", "society", "magentic"),
        ),
        "tests.apps.autogen_states": ("tally", "share", "basket"),
    },
}
STORES = ("sqlite", "redis")
CONSTRUCTS = [(kind, agent) for kind, apps in APPS.items() for agents in apps.values() for agent in agents]
_AT_ONCE = 6
_PLACES = 4


def warm(kind: str) -> Zygote:
    """The parent of one kind's workers. To fork a process that has imported all frameworks would take twice as long."""
    return Zygote([*APPS[kind]], ROOT)


def module_of(kind: str, agent: str) -> ModuleType:
    """The app that an agent belongs to."""
    return importlib.import_module(next(app for app, agents in APPS[kind].items() if agent in agents))


def sample(points: Iterable[str], turn: int) -> list[str]:
    """One point of each sort ("in", "before", "after"), each in another quarter of the run. Which quarters differs by
    agent and store, so that together they cover everything."""
    sorts: dict[str, list[str]] = {}
    for point in points:
        sorts.setdefault(point.partition(":")[0], []).append(point)
    spread = (((turn + shift) % _PLACES, some) for shift, some in enumerate(sorts.values()))
    return [some[(2 * place + 1) * len(some) // (2 * _PLACES)] for place, some in spread]


def kills(
    kind: str,
    agent: str,
    zygote: Zygote,
    new_url: Callable[[str], str],
    folder: Path,
    stores: tuple[str, ...] = STORES,
    *,
    sampled: bool = False,
) -> tuple[int, list[str]]:
    """Kill an agent's worker at every point on each store, or at a sample of them by turns on one: how many kills, and
    what was wrong."""
    module, turn = module_of(kind, agent), CONSTRUCTS.index((kind, agent))

    def run_on(store: str, name: str) -> Run:
        return Run(
            zygote, new_url(store), folder / f"{store}-{name}".replace(":", "-").replace(" ", "-"), module, agent
        )

    baseline, writes = undisturbed(run_on(stores[turn % len(stores)], "calm"))
    points = [f"in:{label}" for label in baseline]
    points += [f"{when}:{n}" for n in range(1, writes + 1) for when in ("before", "after")]

    def kill_at(chosen: tuple[str, str]) -> str | None:
        run = run_on(*chosen)
        problem = killed(run, chosen[1], baseline)
        return f"{agent}, {', '.join(chosen)}: {problem}\n{run.output()}" if problem else None

    chosen = [(store, point) for store in stores for point in points]
    if sampled:  # the stores by turns, and another turn each time that the places begin anew
        chosen = [
            (stores[(turn // _PLACES + number) % len(stores)], point)
            for number, point in enumerate(sample(points, turn))
        ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return len(chosen), [problem for problem in pool.map(kill_at, chosen) if problem]


def undisturbed(run: Run) -> tuple[Counter[str], int]:
    """Run the job without a kill: how often each piece of work runs, and how many writes there are."""
    pid = run.start_worker()
    with bp.connect(run.url, app=run.module.app) as coordinator:
        job = run.submit(coordinator)
        info = run.finish(job)
        assert info.state == bp.JobState.COMPLETED, f"{info}\n{run.output()}"
        assert job.result(timeout=0).model_dump(mode="json") == run.module.EXPECTED[run.agent]
    run.end_worker(pid)
    lines = run.log.read().of(pid)
    return run.log.labels(), sum(line.startswith("ack ") for line in lines)


def killed(run: Run, point: str, baseline: Counter[str]) -> str | None:
    """Run the job with a kill; what was wrong, if something was."""
    first = run.start_worker(kill=point)
    with bp.connect(run.url, app=run.module.app) as coordinator:
        job = run.submit(coordinator)
        run.finish(job, until=lambda: first in run.zygote.ended)
        status = run.end_worker(first)
        if status != -signal.SIGKILL or job.info().attempt != 1:
            return f"the worker was not killed there: status {status}, {job.info()}"
        second = run.start_worker()
        info = run.finish(job)
        if info.state != bp.JobState.COMPLETED:
            return f"lost: {info}"
        result = job.result(timeout=0).model_dump(mode="json")
    run.end_worker(second)
    if result != run.module.EXPECTED[run.agent]:
        return f"another result: {result}"
    if missing := baseline - run.log.read().labels():
        return f"never ran: {missing}"
    if wrong := repeated_too_often(run, baseline):
        return f"ran again though finished: {wrong}\n{run.log.lines}"
    return None


def main() -> None:
    """Run the matrix of a kind on one store; ends with 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills.matrix", description=main.__doc__)
    parser.add_argument("--kind", choices=[*APPS], required=True)
    parser.add_argument("--store", choices=STORES, required=True)
    parser.add_argument("--agents", nargs="*", help="these alone")
    asked = parser.parse_args()
    agents = [agent for kind, agent in CONSTRUCTS if kind == asked.kind]
    if unknown := {*(asked.agents or agents)}.difference(agents):
        parser.error(f"there is no {', '.join(sorted(unknown))}, but: {', '.join(agents)}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="batonpass-kills-") as name, stores_in(Path(name), asked.store) as new_url:
        zygote = warm(asked.kind)
        try:
            for agent in asked.agents or agents:
                began = time.monotonic()
                count, problems = kills(asked.kind, agent, zygote, new_url, Path(name) / agent, (asked.store,))
                failed |= bool(problems)
                end = (
                    f"{agent}, {asked.store}: {count} kills, {len(problems)} problems, {time.monotonic() - began:.0f} s"
                )
                sys.stdout.write("\n".join([*problems, f"{end}\n"]))
                sys.stdout.flush()
        finally:
            zygote.close()
    sys.exit(failed)


@contextmanager
def stores_in(folder: Path, store: str) -> Iterator[Callable[[str], str]]:
    """Makes URLs of new, empty stores, while it lasts."""
    if store == "sqlite":
        yield lambda _: f"sqlite:///{folder / uuid4().hex}.db"
        return
    server = RedisServer(folder, "--appendfsync", "no")
    server.start()
    try:
        yield lambda _: f"{server.url}?namespace={uuid4().hex}"
    finally:
        server.close()


if __name__ == "__main__":
    main()
