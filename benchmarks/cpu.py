"""Cpu: the processor time that processes took, where the system says so (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_of(pids: Iterable[int]) -> float:
    """Seconds that these processes took so far."""
    return sum(_of(pid) for pid in pids)


def _of(pid: int) -> float:
    # Behind the name, which may hold anything: user and system time are the 12th and 13th.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _PER_SECOND
