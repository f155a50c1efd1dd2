"""Migrations: from any older schema to this one, whoever else is there, and never by half.

The product has few migrations, so these tests bring some of their own, through the same mechanism.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.schema import FOLDER, bring_up_to_date, migrations
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.examples.incident_desk.pausing import is_locked
from tests.harness.bench import new_job
from tests.harness.waiting import wait_until
from tests.sqlite.beside import finished, other, run, said, sound

# A statement that holds semicolons, and one that takes a minute.
_NOTES = """
-- What people note; a comment with semicolons; two of them.
CREATE TABLE note (job TEXT NOT NULL, text TEXT NOT NULL DEFAULT 'a;b');
CREATE TRIGGER noted AFTER INSERT ON job BEGIN
    INSERT INTO note (job) VALUES (new.id);
END;
INSERT INTO note (job) SELECT id FROM job
"""
_SLOW = """
ALTER TABLE job ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
UPDATE job SET cost = (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000)
    SELECT max(i) FROM n);
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The product's migrations, in a folder that a test may add to."""
    made = tmp_path / "sql"
    made.mkdir()
    for file in FOLDER.iterdir():
        (made / file.name).write_text(file.read_text())
    return made


@pytest.fixture
def next_version() -> int:
    return max(migrations(FOLDER)) + 1


def connected(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None, timeout=0))


def version(path: Path) -> int:
    with other(path) as db:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        return found


def test_the_products_own_are_numbered_without_gaps() -> None:
    assert list(migrations(FOLDER)) == list(range(1, len(migrations(FOLDER)) + 1))
    numbered = {file.name for file in migrations(FOLDER).values()}
    assert {file.name for file in FOLDER.glob("*.sql")} == {*numbered, "indexes.sql"}


def test_an_older_file_is_migrated(store: SqliteStore, path: Path, folder: Path, next_version: int) -> None:
    job_id = store.call(new_job()).id
    store.close()
    (folder / f"{next_version:03}_notes.sql").write_text(_NOTES)
    (folder / f"{next_version + 1:03}_more.sql").write_text("ALTER TABLE note ADD COLUMN by TEXT NOT NULL DEFAULT '';")
    with connected(path) as db:
        bring_up_to_date(db, str(path), folder)
        assert db.execute("SELECT * FROM note").fetchall() == [(job_id, "a;b", "")]
    assert version(path) == next_version + 1


def test_a_new_file_takes_all_steps(path: Path, folder: Path, next_version: int) -> None:
    (folder / f"{next_version:03}_notes.sql").write_text(_NOTES)
    with connected(path) as db:
        bring_up_to_date(db, str(path), folder)
        assert db.execute("SELECT count(*) FROM note").fetchone() == (0,)
    assert version(path) == next_version


def test_one_that_fails_leaves_the_version_before(
    store: SqliteStore, path: Path, folder: Path, next_version: int
) -> None:
    store.call(new_job())
    store.close()
    before = "\n".join(dumped(path))
    (folder / f"{next_version:03}_wrong.sql").write_text(f"{_NOTES};\nINSERT INTO nowhere VALUES (1);")
    with connected(path) as db, pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
        bring_up_to_date(db, str(path), folder)
    assert "\n".join(dumped(path)) == before
    assert version(path) == next_version - 1


def dumped(path: Path) -> list[str]:
    with other(path) as db:
        return list(db.iterdump())


_MIGRATES = """
import sqlite3, sys
from pathlib import Path
from batonpass.coordinator.sqlite.schema import bring_up_to_date
path, folder = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None, timeout=0)
print("ready", flush=True)
sys.stdin.readline()
bring_up_to_date(db, path, Path(folder))
"""


def test_killed_in_the_middle(store: SqliteStore, path: Path, folder: Path, next_version: int) -> None:
    job_id = store.call(new_job()).id
    store.close()
    (folder / f"{next_version:03}_slow.sql").write_text(_SLOW)
    process = run(_MIGRATES, path, folder)
    assert said(process) == "ready"
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    wait_until(lambda: is_locked(path), what="the migration did not begin")
    process.kill()
    process.communicate()
    assert version(path) == next_version - 1
    assert [row.id for row in store.call(c.ListJobs())] == [job_id]
    assert sound(path)


def test_many_processes_at_once(store: SqliteStore, path: Path, folder: Path, next_version: int) -> None:
    """Each step is taken once: taken twice these would fail."""
    store.call(new_job())
    store.close()
    for step in range(5):
        (folder / f"{next_version + step:03}_step.sql").write_text(f"CREATE TABLE step_{step} (i INTEGER);")
    processes = [run(_MIGRATES, path, folder) for _ in range(4)]
    for process in processes:
        assert said(process) == "ready"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        finished(process)
    assert version(path) == next_version + 4


def test_a_newer_batonpass_made_it(store: SqliteStore, path: Path, next_version: int) -> None:
    store.close()
    with other(path) as db:
        db.execute(f"PRAGMA user_version = {next_version}")
    expected = rf"newer Batonpass \(schema {next_version}, this one knows {next_version - 1}\): install that version"
    for act in (store.open, lambda: store.call(c.ListJobs()), lambda: store.call(new_job())):
        with pytest.raises(bp.BadSetup, match=expected):
            act()


def test_a_newer_batonpass_migrates_it_while_it_is_open(
    store: SqliteStore, path: Path, folder: Path, next_version: int
) -> None:
    """What is written by the old rules could be wrong under the new ones."""
    store.call(new_job())
    (folder / f"{next_version:03}_notes.sql").write_text(_NOTES)
    with connected(path) as db:
        bring_up_to_date(db, str(path), folder)
    with pytest.raises(bp.BadSetup, match=f"newer Batonpass .*schema {next_version}"):
        store.call(new_job())
    with other(path) as db:
        assert db.execute("SELECT count(*) FROM job").fetchone() == (1,)
