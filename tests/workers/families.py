"""Worker processes with children of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import batonpass as bp
from tests.harness.waiting import wait_until

from .processes import DEADLINE, Desk, WorkerProcess

APP = "tests.workers.apart:app"


def serving_apart(desk: Desk, agents: str, *options: str, app: str = APP) -> WorkerProcess:
    """Start a worker for agents that have processes of their own, and wait until it serves."""
    worker = desk.start("--agents", agents, *options, app=app)
    worker.wait_for("serves")
    return worker


def who(desk: Desk, label: str) -> int:
    """The process that last did a piece of work. Waits until the work has begun."""
    desk.wait_for(label)
    return [pid for pid, what in desk.lines() if what == label][-1]


def times(desk: Desk, label: str, number: int) -> None:
    """Wait until a piece of work has begun so many times."""
    what = f"{number} times {label}"
    wait_until(lambda: desk.ran()[label] >= number, timeout=DEADLINE, what=f"{what} in {desk.ran()}\n{desk.said()}")


def alive(pid: int) -> bool:
    """Whether a process runs: one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def insist(job: bp.SyncJob[Any]) -> None:
    """Wait until the job has failed, and cut short the waits between the deaths of its workers."""

    def has_failed() -> bool:
        info = job.info()
        if info.reason == "retry_at":
            job.run_now()
        return info.state == "failed"

    wait_until(has_failed, timeout=DEADLINE, what=f"the end of job {job.id}")


def wait_for_end(*pids: int) -> None:
    """Wait until none of the processes runs any more."""
    wait_until(lambda: not any(map(alive, pids)), timeout=DEADLINE, what=f"the end of {pids}")


def children(pid: int) -> list[int]:
    """The processes that a process started and that still run."""
    found: list[int] = []
    for entry in os.listdir("/proc"):
        try:
            parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if parent == pid and alive(int(entry)):
            found.append(int(entry))
    return found
