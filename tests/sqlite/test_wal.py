"""The write-ahead log: it does not grow without bound, whoever reads meanwhile."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import wal
from batonpass.coordinator.sqlite.disk import Disk
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint, new_job
from tests.sqlite.beside import other, sound

MEGABYTE = 1024 * 1024


def log_size(path: Path) -> int:
    return path.with_name(f"{path.name}-wal").stat().st_size


@pytest.fixture(autouse=True)
def small_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with much more data."""
    monkeypatch.setattr(wal, "LARGE", MEGABYTE)
    monkeypatch.setattr(wal, "_AGAIN", 0.0)


def save(store: SqliteStore, megabytes: int) -> None:
    for number in range(megabytes * 4):
        store.call(c.Save("t", new_checkpoint(f"{number}" + "x" * 250_000)))


def test_a_large_log_is_emptied(store: SqliteStore, path: Path) -> None:
    save(store, 10)
    assert log_size(path) < 2 * MEGABYTE


def test_a_long_reader_holds_it_up_and_it_is_emptied_when_he_leaves(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wal, "_READERS_LEAVE", 1)
    with other(path) as reader, caplog.at_level(logging.WARNING):
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM job").fetchone()
        save(store, 5)
        assert log_size(path) > 4 * MEGABYTE
        assert "store.db-wal has grown to" in caplog.text
        assert len(caplog.records) <= 3, "said once for each doubling"
        reader.execute("COMMIT")
    store.call(new_job())
    assert log_size(path) == 0
    assert len(store.call(c.Timeline("t", 100))) == 20


def test_what_is_left_of_the_disk_is_seldom_asked(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log is overwritten again and again. While its size stays the same, there is no need to ask."""
    asked: list[str] = []

    def left(path: str) -> int:
        asked.append(path)
        return 2**40

    monkeypatch.setattr(wal, "_left", left)
    monkeypatch.setattr(wal, "_SMALL", 1000)
    monkeypatch.setattr(wal, "_COMMITS", 10)
    for count in (30, 100):
        asked.clear()
        for number in range(count):
            store.call(c.Save("t", new_checkpoint(f"{number}")))
    assert 0 < len(asked) <= 30, "after the log was begun anew, and when it has grown"


def test_a_steady_stream_of_readers(store: SqliteStore, path: Path) -> None:
    """There is always one: the log can start anew only when somebody makes it."""
    done = threading.Event()

    def read() -> None:
        with other(path) as db:
            while not done.is_set():
                db.execute("BEGIN")
                db.execute("SELECT count(*) FROM checkpoint").fetchone()
                done.wait(0.02)
                db.execute("COMMIT")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    largest = 0
    for _ in range(20):
        save(store, 1)
        largest = max(largest, log_size(path))
    done.set()
    for reader in readers:
        reader.join()
    assert largest < 10 * MEGABYTE
    assert sound(path)


def test_a_full_disk_is_told_once_then_seldom(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An attempt is made every second, and logs may be on the disk that is full."""
    clock, full = [1000.0], [True]
    monkeypatch.setattr(wal, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    class Connection:
        def execute(self, sql: str) -> sqlite3.Cursor:
            if "checkpoint" in sql and full[0]:
                raise sqlite3.OperationalError("database or disk is full")
            return sqlite3.connect(":memory:").execute("SELECT 0, 0, 0")

    keeper = wal.WalKeeper(str(path), cast("Disk", SimpleNamespace(log_size=lambda: 100 * MEGABYTE)))
    at: list[float] = []
    for _ in range(600):
        seen = caplog.text.count("can't be emptied: database or disk is full")
        keeper.look(cast("sqlite3.Connection", Connection()))
        if caplog.text.count("can't be emptied: database or disk is full") > seen:
            at.append(clock[0] - 1000)
        clock[0] += 1
    assert at == [0, 30, 90, 210, 450]
    full[0] = False
    with caplog.at_level(logging.INFO):
        keeper.look(cast("sqlite3.Connection", Connection()))
    assert caplog.text.count("can't be emptied: that is over") == 1
