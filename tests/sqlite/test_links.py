"""A store behind a symbolic link: SQLite keeps the log beside the file itself. Each write was made, then refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.waiting import wait_until


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """A link to where a store is to be."""
    (tmp_path / "far").mkdir()
    made = tmp_path / "link.db"
    made.symlink_to(Path("far", "store.db"))
    return made


def saved(coordinator: bp.SyncCoordinator) -> int:
    coordinator.save(thread="run", agent="start", state={"n": 1})
    return len(coordinator.timeline("run"))


def test_what_is_written_through_it_is_acknowledged(link: Path) -> None:
    with bp.connect(f"sqlite:///{link.resolve()}") as coordinator:
        assert saved(coordinator) == 1
    with bp.connect(f"sqlite:///{link}") as coordinator:
        assert saved(coordinator) == 2
        coordinator.backup(str(link.parent / "copy.db"))
    assert link.is_symlink()


def test_a_new_file_behind_it_is_private(link: Path) -> None:
    before = os.umask(0o022)
    try:
        with bp.connect(f"sqlite:///{link}") as coordinator:
            assert saved(coordinator) == 1
            made = list(link.resolve().parent.iterdir())
            assert {file.stat().st_mode & 0o777 for file in made} == {0o600}
    finally:
        os.umask(before)
    assert {file.name for file in made} == {"store.db", "store.db-wal", "store.db-shm"}


def is_told(coordinator: bp.SyncCoordinator) -> bool:
    try:
        saved(coordinator)
    except bp.Unreachable as error:
        return "another file put in its place" in str(error)
    return False


def test_who_has_it_open_is_told_that_it_leads_elsewhere(link: Path) -> None:
    with bp.connect(f"sqlite:///{link}") as coordinator:
        saved(coordinator)
        link.unlink()
        link.symlink_to(Path("far", "other.db"))
        with bp.connect(f"sqlite:///{link}") as other:
            assert saved(other) == 1
        wait_until(lambda: is_told(coordinator), timeout=30, what="an error")


def test_a_store_that_is_opened_again_makes_no_file_elsewhere(link: Path) -> None:
    """What is behind it was looked up once."""
    store = SqliteStore(str(link), "default")
    store.open()
    store.close()
    link.unlink()
    link.symlink_to(Path("far", "other.db"))
    with pytest.raises(bp.Unreachable, match="another file put in its place"):
        store.open()
    assert not link.exists()
