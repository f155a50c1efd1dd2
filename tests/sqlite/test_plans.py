"""No operation walks over the jobs that it is not about: SQLite chooses its ways through the tables by itself."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator import sqlite
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import MINUTE, Bench, new_job
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
        store: Any = bench.store
        for handle in (store._writing, store._reading):
            with handle as connection:
                connection.set_progress_handler(lambda: next(taken) < 0, 10)
        bench.do(command)
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


def test_jobs_that_stay_are_passed_over_in_an_index(tmp_path: Path) -> None:
    """For each page, to read the rows of all that come before it takes 0.1 s for 40,000 of them."""
    with Bench(SqliteHarness(tmp_path / "store.db"), side="sync") as bench:
        store: Any = bench.store
        asked = list[str]()
        with store._writing as connection:
            connection.set_trace_callback(asked.append)
        bench.do(c.PruneJobs(0, 7, 5))
        [page] = [query for query in asked if "OFFSET 7" in query]
        with store._reading as connection:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {page}")]
    assert "SEARCH job USING COVERING INDEX job_listed (namespace=?)" in plan
    assert "SEARCH job USING INDEX job_listed (namespace=?)" not in plan


def test_a_threads_jobs_are_listed_without_a_look_at_all_others(tmp_path: Path) -> None:
    few, many = (steps(tmp_path / f"{others}.db", lambda _: c.JobsOn("t"), others) for others in (20, 200))
    assert many < few * 1.5 + 2


def test_jobs_of_a_state_are_listed_without_a_look_at_all_others(tmp_path: Path) -> None:
    def scene(bench: Bench) -> c.Command[Any]:
        bench.clock.advance(-MINUTE)  # older than all others
        bench.start()
        return c.ListJobs(50, state="working")

    few, many = (steps(tmp_path / f"{others}.db", scene, others) for others in (20, 200))
    assert many < few * 1.5 + 2


def test_jobs_without_children_are_listed_by_an_index(tmp_path: Path) -> None:
    """Which tells whose child each is: to look at the rows of 10,000 children takes fifty times as long."""
    plan = "EXPLAIN QUERY PLAN SELECT * FROM job WHERE namespace = '' AND parent = '' ORDER BY created DESC, id DESC"
    with Bench(SqliteHarness(tmp_path / "store.db"), side="sync") as bench:
        store: Any = bench.store
        with store._reading as connection:
            assert connection.execute(plan).fetchall()[0][3].endswith("USING INDEX job_listed (namespace=?)")
            [(_, columns)] = connection.execute("SELECT seqno, name FROM pragma_index_info('job_listed')").fetchall()[
                3:
            ]
            assert columns == "parent"


@pytest.mark.parametrize("lacking", ["job_listed", "job_state"])
def test_a_file_of_an_older_batonpass_gets_its_indexes(tmp_path: Path, lacking: str) -> None:
    file = tmp_path / "store.db"
    with Bench(SqliteHarness(file), side="sync") as bench:
        bench.start()
    with closing(sqlite3.connect(file)) as db:
        version = db.execute("PRAGMA user_version").fetchone()
        db.execute(f"DROP INDEX {lacking}")
        db.execute("CREATE INDEX IF NOT EXISTS job_created ON job (namespace, created, id)")
    SqliteStore(str(file), "default").open()
    with closing(sqlite3.connect(file)) as db:
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        assert {"job_listed", "job_state"} <= there
        assert "job_created" not in there
        assert db.execute("PRAGMA user_version").fetchone() == version  # workers of that Batonpass go on


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
