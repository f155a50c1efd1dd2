"""The SQLite store's file: how it is kept, shared and filled, and what is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import SCHEMA_VERSION
from batonpass.coordinator.sqlite import store as module
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
from tests.harness.bench import Bench, new_checkpoint, new_job, new_target
from tests.harness.stores import SqliteHarness

ROOT = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(str(path), "default")
    made.open()
    yield made
    made.close()


def other(path: Path) -> closing[sqlite3.Connection]:
    """A connection of our own."""
    return closing(sqlite3.connect(path, isolation_level=None, timeout=0))


def test_it_keeps_what_was_committed(store: SqliteStore, path: Path) -> None:
    with other(path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert store._connection is not None
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    job_id = store.call(new_job()).id
    store.close()
    again = SqliteStore(str(path), "default")
    assert again.call(c.ReadJob(job_id)).id == job_id
    again.close()


def test_a_closed_handle_opens_again(store: SqliteStore) -> None:
    job_id = store.call(new_job()).id
    store.close()
    store.close()
    assert store.call(c.ReadJob(job_id)).id == job_id


def test_another_programs_database(path: Path) -> None:
    with other(path) as db:
        db.execute("CREATE TABLE invoices (id)")
    with pytest.raises(bp.BadSetup, match="is another program's database: choose another file"):
        bp.connect(f"sqlite:///{path}").open()
    with other(path) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("invoices",)]


def test_a_file_that_is_no_database(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(bp.BadSetup, match="is not a Batonpass store: file is not a database"):
        bp.connect(f"sqlite:///{path}").open()
    assert path.read_text() == "Dear diary, " * 1000


def test_a_newer_batonpass(store: SqliteStore, path: Path) -> None:
    store.close()
    with other(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(bp.BadSetup, match=f"newer Batonpass .*schema {SCHEMA_VERSION + 1}"):
        store.open()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(bp.Unreachable, match=r"there is no folder .*/none for the store .*: make it first"):
        bp.connect(f"sqlite:///{tmp_path}/none/store.db").open()
    assert not (tmp_path / "none").exists()
    with pytest.raises(bp.Unreachable, match="can't be opened"):
        bp.connect(f"sqlite:///{tmp_path}").open()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://host/file.db", "sqlite:///:memory:"])
def test_a_url_that_names_no_file(url: str) -> None:
    with pytest.raises(bp.BadSetup):
        bp.connect(url)


def test_a_url_names_a_file_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with bp.connect("sqlite:///a%20b.db"):
        assert (tmp_path / "a b.db").exists()


def test_a_writer_waits_for_its_turn(store: SqliteStore, path: Path) -> None:
    with other(path) as db, ThreadPoolExecutor(1) as pool:
        db.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(store.call, new_job())
        with pytest.raises(TimeoutError):
            waiting.result(0.2)
        db.execute("COMMIT")
        assert waiting.result(10).state == "submitted"


def test_a_writer_does_not_wait_for_ever(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_DEADLINE", 0.2)
    with other(path) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(bp.Overloaded, match=r"was busy for .* nothing was written, try again"):
            store.call(new_job())
        db.execute("COMMIT")
    assert store.call(c.ListJobs()) == []
    store.call(new_job())


def test_readers_and_idle_workers_wait_for_nobody(store: SqliteStore, path: Path) -> None:
    job_id = store.call(new_job()).id
    with other(path) as db:
        db.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert store.call(c.ReadJob(job_id)).id == job_id
        assert store.call(c.Claim("w", ((new_target("review").queue, 1000),), ("lease",))) == []
        assert time.monotonic() - began < module._BUSY_DEADLINE / 2
        db.execute("COMMIT")


def test_a_full_disk(path: Path) -> None:
    """As SQLite meets it: a file that may not grow."""
    harness = SqliteHarness(path)
    with Bench(harness, side="sync") as bench:
        fence = bench.start()
        connection = bench.store._connection  # type: ignore[attr-defined]
        connection.execute("PRAGMA max_page_count = 1")
        large = c.Save(fence.job_id, new_checkpoint("x" * 1_000_000), fence)
        with bench.refused(bp.Overloaded, "no space left for .*: nothing was written, free some"):
            bench.do(large)
        connection.execute("PRAGMA max_page_count = 1000000")
        bench.do(large)
        bench.do(c.Complete(fence, b"result"))


def test_a_damaged_file_is_an_error_of_ours(store: SqliteStore, path: Path) -> None:
    for _ in range(50):
        store.call(new_job())
    store.close()
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(bp.BatonpassError):
        store.call(c.ListJobs())


def run(program: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def test_a_new_file_that_many_processes_open_at_once(path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
path, gate = sys.argv[1:]
print("here", flush=True)
while not Path(gate).exists():
    pass
store = SqliteStore(path, "default")
for _ in range(10):
    store.call(new_job())
"""
    gate = path.with_name("gate")
    processes = [run(program, path, gate) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    gate.touch()
    for process in processes:
        finished(process)
    store = SqliteStore(str(path), "default")
    assert len(store.call(c.ListJobs())) == 40
    store.close()


def test_a_new_file_on_a_full_disk(path: Path) -> None:
    program = """
import resource, sys
from batonpass.contracts.errors import Unavailable
from batonpass.coordinator.sqlite.store import SqliteStore
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    SqliteStore(sys.argv[1], "default").open()
except Unavailable as error:
    print("refused")
"""
    assert finished(run(program, path)) == "refused"
    store = SqliteStore(str(path), "default")
    store.call(new_job())
    store.close()


def test_a_handle_over_a_fork(path: Path) -> None:
    """The child opens its own connection; that it ends does the parent's no harm."""
    program = """
import os, sys
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.call(new_job())
for _ in range(3):
    child = os.fork()
    if child == 0:
        for _ in range(5):
            store.call(new_job())
        grandchild = os.fork()
        if grandchild == 0:
            store.call(new_job())
            sys.exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    for _ in range(5):
        store.call(new_job())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.call(new_job())
print(len(store.call(c.ListJobs())))
"""
    assert finished(run(program, path)) == str(1 + 3 * (5 + 1 + 5 + 1))
    with other(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_one_handle_in_many_threads(store: SqliteStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.call(new_job()), range(80)))
    assert len(store.call(c.ListJobs(100))) == 80


def test_one_handle_in_many_tasks(store: SqliteStore) -> None:
    async def main() -> None:
        await asyncio.gather(*(store.acall(new_job()) for _ in range(80)))

    asyncio.run(main())
    assert len(store.call(c.ListJobs(100))) == 80


def test_another_processs_commit_wakes(store: SqliteStore, path: Path) -> None:
    program = """
import sys
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
SqliteStore(sys.argv[1], "default").call(new_job())
"""
    watch = store.watch(Topic())
    process = run(program, path)
    began = time.monotonic()
    while not store.call(c.ListJobs()):
        watch.wait(20)
    assert time.monotonic() - began < 15
    finished(process)
    watch.close()
