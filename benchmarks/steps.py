"""Jobs of ten recorded steps with 1 KB results, one after the other, beside workflows of DBOS on SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from anyio import run, to_thread

import batonpass as bp
from benchmarks.agents import Topic
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort

_STEPS = 10
_SQLITE_BAR, _REDIS_BAR = 0.33, 0.2  # three and five times the steps per second
# A Python that has DBOS, where this one has not: it wants other versions than the frameworks do.
_PEERS = "BATONPASS_BENCHMARK_PEERS"
_SCRIPT = Path(__file__).with_name("dbos_steps.py")

app = bp.App("steps")


def _word(number: int) -> str:
    return str(number % 10) * 1000


@app.agent("steps", accepts=Topic, returns=Topic)
async def steps(topic: Topic, ctx: bp.Context) -> Topic:
    size = 0
    for number in range(_STEPS):
        size += len(await ctx.step("word", _said, number))
    return Topic(number=size)


async def _said(number: int) -> str:
    return _word(number)


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """Beside DBOS on SQLite, too: it has no Redis."""
    return [run(_compared, "Redis", places.redis_url, places, effort, _REDIS_BAR)]


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """Both on SQLite, as they are by default."""
    return [run(_compared, "SQLite", f"sqlite:///{places.sqlite_file('steps')}", places, effort, _SQLITE_BAR)]


async def _compared(name: str, url: str, places: Places, effort: Effort, bar: float) -> Result:
    comparison, jobs = Comparison(), max(2, effort.jobs // 3)
    async with bp.connect(url, namespace=places.namespace(), app=app) as coordinator, app.worker(coordinator):
        await _ours(coordinator, 2)
        for _ in range(effort.rounds):
            ours = await _ours(coordinator, jobs)
            if _with_dbos() is None:
                comparison.ours += ours
            else:
                comparison.add_round(ours, await to_thread.run_sync(_dbos, places, jobs))
    what = f"recorded step of 1 KB, {name}"
    if not comparison.ratios:
        return Result.alone(f"{what} (DBOS is not installed)", comparison.ours)
    return Result.compared(f"{what} / DBOS on SQLite", comparison, bar=bar)


async def _ours(coordinator: bp.Coordinator, jobs: int) -> list[float]:
    """Seconds for each step, of each job."""
    times: list[float] = []
    for number in range(jobs):
        start = time.perf_counter()
        job = await coordinator.submit("steps", Topic(number=number), returns=Topic)
        assert (await job.result()).number == 1000 * _STEPS
        times.append((time.perf_counter() - start) / _STEPS)
    return times


def _dbos(places: Places, workflows: int) -> list[float]:
    python = _with_dbos()
    assert python is not None
    command = [python, str(_SCRIPT), str(places.sqlite_file("dbos")), str(workflows), str(_STEPS)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=places.folder)
    return [float(line) / _STEPS for line in said.stdout.splitlines()]


@cache
def _with_dbos() -> str | None:
    """A Python that has DBOS."""
    python = os.environ.get(_PEERS, sys.executable)
    return None if subprocess.run([python, "-c", "import dbos"], capture_output=True).returncode else python
