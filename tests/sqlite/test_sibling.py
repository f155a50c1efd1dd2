"""Another handle on the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from batonpass.coordinator.urls import open_store


def test_it_is_the_same_file_wherever_the_process_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///here.db", None)
    monkeypatch.chdir(elsewhere)
    other = store.sibling()
    other.open()
    other.close()
    assert other.url == store.url == "sqlite:///here.db"
    assert (tmp_path / "here.db").exists()
    assert list(elsewhere.iterdir()) == []
