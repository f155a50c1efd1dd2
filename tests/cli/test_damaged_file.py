"""A SQLite file with damaged pages: doctor finds them, wherever they are, and every command says so in one line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import batonpass as bp

from ..harness.bench import new_job
from .commandline import CommandLine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with bp.connect(f"sqlite:///{path}") as coordinator:
        for _ in range(10):
            coordinator.store.call(new_job())
    return path


@pytest.fixture
def cli(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(f"sqlite:///{path}", capsys, monkeypatch)


def _spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table or an index."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [root] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        [size] = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)


def _failures(cli: CommandLine) -> list[str]:
    ran = cli("doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (1, False)
    return [each["text"] for each in ran.json["findings"] if each["level"] == "fail"]


def test_doctor_finds_damage_that_no_command_has_met(cli: CommandLine, path: Path) -> None:
    _spoil(path, "thread")
    assert cli("jobs").code == 0
    [text] = _failures(cli)
    assert text.startswith(f"{path} is damaged (")


@pytest.mark.parametrize("table", ["job", "presence", "agent", "moved"])
def test_doctor_ends_in_words(cli: CommandLine, path: Path, table: str) -> None:
    _spoil(path, table)
    assert any(text.startswith(f"{path} is damaged (") for text in _failures(cli))


def test_workers_says_that_the_file_is_damaged(cli: CommandLine, path: Path) -> None:
    _spoil(path, "job")
    with bp.connect(cli.url) as coordinator, pytest.raises(bp.Corrupted, match=r"store.db is damaged"):
        coordinator.workers()
    assert cli("workers").complaint.startswith(f"{path} is damaged (")


def test_all_pages_of_a_good_file_are_read(cli: CommandLine) -> None:
    ran = cli("doctor", "--json")
    assert {"level": "ok", "about": "pages", "text": "all can be read"} in ran.json["findings"]
