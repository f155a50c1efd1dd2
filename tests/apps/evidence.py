"""The external log by which tests know what ran how often, and the switch that kills a process in the middle.

The log is append-only, fsynced line by line, and written by the agents' own code: never by Batonpass.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def note(text: str) -> None:
    """Append one line, `pid text`, durably."""
    log = os.open(os.environ["BATONPASS_TEST_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(log, f"{os.getpid()} {text}\n".encode())
        os.fsync(log)
    finally:
        os.close(log)


def ran(label: str) -> None:
    """Note that the piece of work `label` began; die by SIGKILL, or wait to be stopped, if the test asked for it."""
    note(label)
    kill = os.environ.get("BATONPASS_TEST_KILL")
    if kill == f"in:{label}":
        os.kill(os.getpid(), signal.SIGKILL)
    if kill == f"pause:{label}":
        # The test freezes this process here. What follows runs when it is woken.
        note("paused")
        while not gate(os.environ["BATONPASS_TEST_LOG"]).exists():
            time.sleep(0.01)


def gate(log: str) -> Path:
    """The file that lets go on what is paused."""
    return Path(f"{log}.gate")
