"""--alive-file: what a probe looks at."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import anyio
import pytest

from batonpass.workers import alive
from tests.harness.waiting import wait_until

from .processes import DEADLINE, Desk


def test_it_is_there_while_the_worker_serves(desk: Desk) -> None:
    file = desk.folder / "alive"
    worker = desk.serving("steps", "--alive-file", str(file))
    wait_until(file.exists, timeout=DEADLINE, what="the file")
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert not file.exists()


def test_a_file_that_cant_be_written(desk: Desk) -> None:
    worker = desk.start("--agents", "steps", "--alive-file", str(desk.folder / "none" / "alive"))
    assert worker.exit_code() == 2
    assert "none/alive can't be written: No such file or directory" in worker.said()


async def test_it_is_touched_while_the_loop_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alive, "_EVERY", 0.01)
    file = tmp_path / "alive"
    async with alive.shown_alive(file):
        os.utime(file, (0, 0))
        time.sleep(0.1)  # noqa: ASYNC251 - as agent code may
        assert file.stat().st_mtime == 0
        with anyio.fail_after(DEADLINE):
            while file.stat().st_mtime == 0:
                await anyio.sleep(0.001)
            file.unlink()
            while not file.exists():
                await anyio.sleep(0.001)
