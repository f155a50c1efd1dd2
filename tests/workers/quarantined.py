"""The app of the tests of quarantine. Gates and evidence as in agents.py."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import batonpass as bp
from tests.apps.evidence import ran

from .agents import Done, Task, is_open, pass_gate


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    """Where the gate "one at a time" is open, only one process at a time can have it; "one by one": others wait."""
    with (Path(os.environ["BATONPASS_TEST_GATES"]) / "lock").open("w") as lock:
        if is_open("one at a time"):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_open("one by one"):
            ran("enters")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


app = bp.App("quarantine-tests", lifespan=lifespan)


@app.agent("kills", accepts=Task, returns=Done)
def kills(task: Task, ctx: bp.SyncContext) -> Done:
    ran("kills")
    pass_gate(f"kill {task.text}")
    os.kill(os.getpid(), signal.SIGKILL)
    return Done(words=[])


@app.agent("waits", accepts=Task, returns=Done)
def waits(task: Task) -> Done:
    ran(f"{task.text}:waits")
    pass_gate("go on")
    return Done(words=[str(os.getpid())])
