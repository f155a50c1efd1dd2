"""Others at the same file: a connection of the test's own, and processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[2]


def other(path: Path) -> closing[sqlite3.Connection]:
    """A connection of our own."""
    return closing(sqlite3.connect(path, isolation_level=None, timeout=0))


def run(program: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen[str]) -> str:
    """Its next line."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return line.strip()


def finished(process: subprocess.Popen[str]) -> str:
    """What it printed, when it has ended well."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.strip()


def sound(path: Path) -> bool:
    """Whether SQLite finds the file whole."""
    with other(path) as db:
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
