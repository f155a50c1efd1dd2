"""How a write waits for its turn: quickly, and one of a crowd leaves it to the others for a while."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
from tests.sqlite.beside import other


def test_one_of_a_crowd_steps_back_once(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    with other(path) as db:
        db.execute("BEGIN IMMEDIATE")

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 30:
                db.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", sleep)
        store.call(new_job())
    assert max(slept[:3]) < 0.001, "as long as a write of others takes"
    assert 0.008 <= slept[3] <= 0.016
    assert max(slept[4:]) <= 0.01, "whoever cleans up leaves the file to others so long"
