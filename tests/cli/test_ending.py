"""A command that is told to stop removes what it has begun, however often it is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

_TOLD_TWICE = """
import os, pathlib, signal, sys
from batonpass.cli.ending import tidy_at_sigterm

def tell():
    os.kill(os.getpid(), signal.SIGTERM)

with tidy_at_sigterm():
    try:
        tell()
    finally:
        tell()
        pathlib.Path(sys.argv[1]).unlink()
"""


def test_a_command_that_is_told_to_stop_while_it_stops(tmp_path: Path) -> None:
    """By `kill`, and then by the service manager: the part of a backup that was there stayed."""
    begun = tmp_path / "copy.db.part"
    begun.touch()
    ended = subprocess.run([sys.executable, "-c", _TOLD_TWICE, str(begun)], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (-signal.SIGTERM, "")
    assert not begun.exists()
