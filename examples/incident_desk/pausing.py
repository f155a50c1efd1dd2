"""Pausing a worker, but not while it writes to a file: SQLite's lock would stay with it, and no other worker could
take over its job."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

_PREFIX = "sqlite:///"
# A lock that a running process holds is free long before that.
_PATIENCE = 1.0  # seconds
_TURN = 0.05  # seconds to go on for, until the next try
_TRIES = 30


def pause(pid: int, url: str) -> None:
    """Stop a worker process (SIGSTOP) of the store with that URL."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(_TRIES):  # in the end it is somebody else who holds the lock
        if not url.startswith(_PREFIX) or not is_locked(Path(url.removeprefix(_PREFIX)), _PATIENCE):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(_TURN)
        os.kill(pid, signal.SIGSTOP)


def is_locked(path: Path, patience: float = 0) -> bool:
    """Whether somebody holds the write lock of a file that exists, and keeps it for `patience` seconds."""
    there = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(there, uri=True, timeout=patience, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        db.execute("ROLLBACK")
    return False
