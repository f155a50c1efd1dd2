"""Who may read JsonFiles: nobody else, unless their folder says so."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from batonpass.adapters.plain import JsonFiles


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> list[int]:
    """Of a folder, the threads' folders, and their files."""
    return [stat.S_IMODE(each.stat().st_mode) for each in (folder, *sorted(folder.rglob("*")))]


def test_new_ones_are_private(tmp_path: Path) -> None:
    """Anybody on the machine could read what agents work on."""
    JsonFiles(tmp_path / "deep" / "runs").save(thread="run-1", agent="a", state={"secret": 1})
    assert modes(tmp_path / "deep" / "runs") == [0o700, 0o700, 0o600]


@pytest.mark.parametrize(("shared", "file"), [(0o755, 0o644), (0o770, 0o640)])
def test_in_a_folder_that_is_shared_they_are_too(tmp_path: Path, shared: int, file: int) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(shared)
    JsonFiles(tmp_path / "runs").save(thread="run-1", agent="a", state={})
    assert modes(tmp_path / "runs") == [shared, shared & ~0o022, file]
