"""The demo's proof from outside: a file in which the agents' own code notes each unit of work that it begins.

Batonpass does not know of it. Without BATONPASS_DEMO_EVIDENCE in the environment nothing is written. With
BATONPASS_DEMO_HOLD a worker that begins that unit waits in its middle, as if its model were slow, until the file
`go_file(...)` is there: so that the demo can kill or pause it at a known place.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

HOLD_SECONDS = 120.0  # a held worker whose demo has died goes on after this
_LOOK_EVERY = 0.02  # seconds


def begin(unit: str) -> None:
    """Note that this process begins `unit`, e.g. "triage: agent 1"."""
    file = os.environ.get("BATONPASS_DEMO_EVIDENCE")
    if not file:
        return
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{os.getpid()} {unit}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if os.environ.get("BATONPASS_DEMO_HOLD") == unit:
        _wait_for(go_file(Path(file), os.getpid()))


def go_file(evidence: Path, pid: int) -> Path:
    """The file that lets a held process go on."""
    return evidence.with_name(f"{evidence.name}.go-{pid}")


def _wait_for(file: Path) -> None:
    until = time.monotonic() + HOLD_SECONDS
    while not file.exists() and time.monotonic() < until:
        time.sleep(_LOOK_EVERY)
