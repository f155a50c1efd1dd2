"""No operation walks over the jobs that it is not about: SQLite chooses its ways through the tables by itself."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator import sqlite
from tests.harness.bench import Bench, new_job
from tests.harness.children import Family
from tests.harness.ram import ram_folder
from tests.harness.stores import SqliteHarness
from tests.rules.scenes import SCENES, Scene

_OTHERS = 60
# These are about all jobs that ended, or about all events.
_ABOUT_ALL = {"prune jobs", "trim events"} | {name for name in SCENES if name.startswith("take events")}
_SCENES = {name: scene for name, scene in SCENES.items() if name not in _ABOUT_ALL}


@cache
def _ended_jobs(count: int) -> bytes:
    """A file with so many."""
    with ram_folder() as folder:
        file = folder / "store.db"
        with Bench(SqliteHarness(file), side="sync") as bench:
            for _ in range(count):
                bench.do(c.Cancel(bench.do(new_job()).id))
        return file.read_bytes()


def steps(file: Path, scene: Scene, others: int) -> int:
    """How many tens of steps SQLite's virtual machine takes for an operation beside so many ended jobs."""
    file.write_bytes(_ended_jobs(others))
    with Bench(SqliteHarness(file), side="sync") as bench:
        command = scene(bench)
        taken = count()
        connection = bench.store._writing._connection  # type: ignore[attr-defined]
        connection.set_progress_handler(lambda: next(taken) < 0, 10)
        bench.do(command)
        connection.set_progress_handler(None, 0)
        return next(taken)


@pytest.mark.parametrize("scene", _SCENES.values(), ids=_SCENES.keys())
def test_other_jobs_cost_nothing(tmp_path: Path, scene: Scene) -> None:
    alone, beside = (steps(tmp_path / f"{others}.db", scene, others) for others in (0, _OTHERS))
    assert beside - alone < _OTHERS / 2


def test_a_job_is_pruned_without_a_look_at_all_others(tmp_path: Path) -> None:
    few, many = (
        steps(tmp_path / f"{others}.db", lambda bench: c.PruneJobs(0, limit=5), others) for others in (20, 200)
    )
    assert many < few * 1.5


def test_a_threads_jobs_are_listed_without_a_look_at_all_others(tmp_path: Path) -> None:
    few, many = (steps(tmp_path / f"{others}.db", lambda _: c.JobsOn("t"), others) for others in (20, 200))
    assert many < few * 1.5 + 2


def _children_to_make(count: int) -> Scene:
    def scene(bench: Bench) -> c.Command[Any]:
        family = Family(bench, bench.start(), count)
        bench.do(c.Stage(family.fence, 0, family.children[1:]))
        family.spawn(given=1)
        return c.Reap(5)

    return scene


def test_some_children_are_made_without_a_look_at_all_others(tmp_path: Path) -> None:
    few, many = (steps(tmp_path / f"{count}.db", _children_to_make(count), 0) for count in (20, 200))
    assert many < few * 1.5


def test_no_statement_numbers_its_placeholders() -> None:
    """Python 3.12 warns of `?1` with a sequence of values, 3.14 refuses it."""
    sources = Path(sqlite.__path__[0]).glob("*.py")
    numbered = {path.name: found for path in sources if (found := re.findall(r"\?\d", path.read_text()))}
    assert numbered == {}
