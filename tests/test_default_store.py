"""Where `connect` goes that is given no URL: where the command line goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import batonpass as bp


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATONPASS_URL", raising=False)
    return tmp_path


def test_a_file_in_the_working_directory(here: Path) -> None:
    with bp.connect(namespace="desk") as coordinator:
        saved = coordinator.save(thread="run", agent="a", state="state")
    assert (here / "batonpass.db").exists()
    with bp.connect("sqlite:///batonpass.db?namespace=desk") as coordinator:
        assert coordinator.restore(saved.id).state == "state"


def test_the_environment_goes_first(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATONPASS_URL", "sqlite:///named.db")
    with bp.connect() as coordinator:
        coordinator.save(thread="run", agent="a", state="state")
    with bp.connect("sqlite:///given.db"):
        pass
    assert {file.name for file in here.glob("*.db")} == {"named.db", "given.db"}


@pytest.mark.parametrize("url", ["", "mysql://localhost"])
def test_a_wrong_one_names_the_variable(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BATONPASS_URL", url)
    with pytest.raises(bp.BadSetup, match=rf"^BATONPASS_URL: store URL '{url}' can't be used"):
        bp.connect()
    with pytest.raises(bp.BadSetup, match=r"^store URL '' can't be used"):
        bp.connect("")


def test_none_is_not_the_default(here: Path) -> None:
    """As of settings that are not there: a file would hide that."""
    missing: Any = None
    with pytest.raises(bp.BadSetup, match="None"):
        bp.connect(missing)
    assert list(here.iterdir()) == []
