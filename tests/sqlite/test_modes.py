"""Who may read the files: their user alone, unless an existing file says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator.new_file import begin_private


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_files_are_private(tmp_path: Path) -> None:
    store = tmp_path / "new.db"
    with bp.connect(f"sqlite:///{store}") as coordinator:
        coordinator.save(thread="t", agent="a", state={"n": 1})
        coordinator.backup(tmp_path / "copy.db")
        coordinator.export_bundle("t", tmp_path / "t.bundle")
        found = {path.name: oct(_mode(path)) for path in tmp_path.iterdir()}
    assert found == dict.fromkeys(["new.db", "new.db-wal", "new.db-shm", "copy.db", "t.bundle"], oct(0o600))


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """So a group can share a store."""
    store = tmp_path / "shared.db"
    store.touch()
    store.chmod(0o664)
    with bp.connect(f"sqlite:///{store}") as coordinator:
        coordinator.save(thread="t", agent="a", state={"n": 1})
        assert {_mode(path) for path in tmp_path.iterdir()} == {0o664}
        coordinator.backup(tmp_path / "copy.db")
    with bp.connect(f"sqlite:///{store}") as coordinator:
        assert (len(coordinator.timeline("t")), _mode(store), _mode(tmp_path / "copy.db")) == (1, 0o664, 0o600)


def test_where_only_root_makes_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, mode: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "mknod", refuse)
    begin_private(str(tmp_path / "a"))
    assert _mode(tmp_path / "a") == 0o600
    begin_private(str(tmp_path / "none" / "a"))


@pytest.mark.parametrize("mknod", [True, False])
def test_a_new_file_where_a_link_leads_is_private_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mknod: bool
) -> None:
    if not mknod:
        monkeypatch.delattr(os, "mknod")
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("between")
    (tmp_path / "between").symlink_to(Path("disk") / "new.db")
    begin_private(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert _mode(tmp_path / "disk" / "new.db") == 0o600


def test_where_a_link_leads_nowhere_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "lost").symlink_to(tmp_path / "none" / "new.db")
    for name in ("circle", "lost"):
        begin_private(str(tmp_path / name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "lost"]
