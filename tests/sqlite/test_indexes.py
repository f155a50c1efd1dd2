"""Indexes that a file of an older Batonpass lacks: they are made if that is possible, and the file opens in any case. A
store on a full disk could not be listed, exported or pruned any more after an upgrade."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import schema
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
from tests.sqlite.beside import finished, other, run

WANTED = {"job_listed", "job_state"}


@pytest.fixture
def older(store: SqliteStore, path: Path) -> Path:
    """A file without these indexes, with jobs that take more than a page of them."""
    for _ in range(50):
        store.call(new_job())
    store.close()
    with other(path) as db:
        for name in WANTED:
            db.execute(f"DROP INDEX {name}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def has_all(path: Path) -> bool:
    with other(path) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")} >= WANTED


def listed(path: Path) -> int:
    """How many jobs a store lists that is opened for that."""
    store = SqliteStore(str(path), "default")
    try:
        return len(store.call(c.ListJobs(limit=100)))
    finally:
        store.close()


def test_a_lock_that_is_held_for_long(
    older: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "_PATIENCE", 0.5)
    caplog.set_level(logging.WARNING, "batonpass.store")
    with other(older) as holder:
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert listed(older) == listed(older) == 50
        assert time.monotonic() - began < 5
    assert caplog.messages == [f"{older}: lists are slower, because indexes can't be made now: database is locked"]
    assert not has_all(older)
    assert listed(older) == 50
    assert has_all(older), "the next opening makes them"


_LISTS_ON_A_FULL_DISK = """
import resource, sys
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
print(len(SqliteStore(sys.argv[1], "default").call(c.ListJobs(limit=100))))
"""


def test_a_full_disk(older: Path) -> None:
    """Or a quota, which is a limit of the process here."""
    with other(older) as reader:  # another process has it open, so the files beside it are there
        reader.execute("SELECT count(*) FROM job").fetchone()
        assert finished(run(_LISTS_ON_A_FULL_DISK, older)) == "50"
    assert not has_all(older)


def test_a_file_that_turns_read_only(older: Path, caplog: pytest.LogCaptureFixture) -> None:
    with other(older) as db:
        db.execute("PRAGMA query_only = 1")
        schema.bring_up_to_date(db, str(older))
    assert "attempt to write a readonly database" in caplog.text
