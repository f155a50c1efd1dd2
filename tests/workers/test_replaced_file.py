"""A store's file is replaced by a backup while a worker has it open: that worker ends, and the next one serves."""

from __future__ import annotations

import os
from pathlib import Path

import batonpass as bp

from .processes import DEADLINE, Desk


def test_a_worker_whose_file_is_gone_ends_with_an_error(sqlite_url: str, tmp_path: Path) -> None:
    desk = Desk(sqlite_url, tmp_path)
    try:
        worker = desk.serving("child")
        with bp.connect(sqlite_url, app=bp.App("client")) as coordinator:
            coordinator.backup(str(tmp_path / "copy.db"))
        os.replace(tmp_path / "copy.db", tmp_path / "store.db")
        assert worker.exit_code() == 2
        assert "another file put in its place" in worker.said().splitlines()[-1]
        assert "Traceback" not in worker.said()
        for log in tmp_path.glob("store.db-*"):
            log.unlink()
        desk.serving("child")
        with bp.connect(sqlite_url, app=bp.App("client")) as coordinator:
            coordinator.submit("child", {"text": "at once"}).result(timeout=DEADLINE)
    finally:
        desk.close()
