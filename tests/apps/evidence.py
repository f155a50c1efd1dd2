"""The external log by which tests know what ran how often, and the switch that kills a process in the middle.

The log is append-only, fsynced line by line, and written by the agents' own code: never by Batonpass.
"""

from __future__ import annotations

import os
import signal


def ran(label: str) -> None:
    """Note that the piece of work `label` began, then die by SIGKILL if the test asked for a kill in its middle."""
    log = os.open(os.environ["BATONPASS_TEST_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(log, f"{os.getpid()} {label}\n".encode())
        os.fsync(log)
    finally:
        os.close(log)
    if os.environ.get("BATONPASS_TEST_KILL") == f"in:{label}":
        os.kill(os.getpid(), signal.SIGKILL)
