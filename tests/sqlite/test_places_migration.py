"""A file of schema 1 gets places when it is opened, and keeps what it held."""

from __future__ import annotations

from pathlib import Path

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import draft, open_checkpoint
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.sqlite.older import made_by


def _new(state: object, place: Place | None = None) -> c.NewCheckpoint:
    return draft(Snapshot(step="step", state=state), thread="run", agent="write", place=place).new


def test_an_older_file_gets_places(path: Path, tmp_path: Path) -> None:
    newer = SqliteStore(str(tmp_path / "newer.db"), "default")
    saved = _new("before")
    newer.call(c.Save("run", saved))
    newer.close()
    made_by(1, path, tmp_path / "newer.db")
    store = SqliteStore(str(path), "default")
    store.call(c.Put(_new("after", Place("", "a", "r")), writes=[Write("x", b"1")]))
    assert store.call(c.Places("run", None))[0].place == Place("", "a", "r")
    assert open_checkpoint(store.call(c.Restore(saved.id))).state == "before"
    assert len(store.call(c.Timeline("run"))) == 2
    assert len({event.position for event in store.call(c.Events())}) == 2
    store.close()
