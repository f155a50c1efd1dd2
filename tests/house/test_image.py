"""The Dockerfile: its command is process 1 of its container, which only gets the signals that it handles."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import batonpass as bp
from tests.harness.waiting import wait_until
from tests.house.tree import ROOT


def stop_signal() -> signal.Signals:
    """What a container of the image is sent to stop it."""
    named = re.findall(r"^STOPSIGNAL (\w+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return signal.Signals[named[0]] if named else signal.SIGTERM


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_any_command_can_be_stopped(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with bp.connect(store) as coordinator:
        coordinator.save(thread="t", agent="a", state=1)
    alone = ["unshare", "--pid", "--fork", "--kill-child", "env", "--default-signal=INT"]
    command = [*alone, sys.executable, "-m", "batonpass", "events", "--follow", "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stderr
            if not process.stdout.readline():
                pytest.skip(f"this user may not make a namespace of processes: {process.stderr.read()}")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            os.kill(int(children.read_text()), stop_signal())
            wait_until(lambda: process.poll() is not None, timeout=20, what="process 1 does not stop")
        finally:
            process.kill()
