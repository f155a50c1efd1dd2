"""SIGKILL at every step boundary of every adapter, on SQLite and Redis: nothing is lost, nothing finished runs again.

Each agent of each test app first runs undisturbed. Then its worker is killed in the middle of every piece of work, and
before and after every write; another worker finishes the job. What ran how often is told by the external log.
"""

from __future__ import annotations

import importlib
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

import batonpass as bp

from .harness import Run, Zygote, repeated_too_often

CASES = {
    "function": ("async", "sync", "pass"),
    "langgraph": ("line", "fan", "ask", "gate", "react", "nested", "twice", "lend"),
    "crewai": ("pair", "async", "line", "join", "ask", "cycle", "again"),
    "autogen": ("review", "panel", "desk", "refund", "guided", "pipeline", "lookup", "search", "society", "magentic"),
}
AT_ONCE = 6


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"tests.apps.{kind}_app")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", ["sqlite", "redis"])
@pytest.mark.parametrize(("kind", "agent"), [(kind, agent) for kind, agents in CASES.items() for agent in agents])
def test_killed_at_every_boundary(
    kind: str, agent: str, store: str, zygote: Zygote, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    module = _module(kind)
    calm = Run(zygote, new_url(store), tmp_path / "calm", module, agent)
    baseline, writes = undisturbed(calm)
    points = [f"in:{label}" for label in baseline]
    points += [f"{when}:{n}" for n in range(1, writes + 1) for when in ("before", "after")]

    def kill_at(numbered: tuple[int, str]) -> str | None:
        number, point = numbered
        run = Run(zygote, new_url(store), tmp_path / str(number), module, agent)
        problem = killed(run, point, baseline)
        return f"{point}: {problem}\n{run.output()}" if problem else None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = [problem for problem in pool.map(kill_at, enumerate(points)) if problem]
    assert not problems, "\n".join(problems)


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
