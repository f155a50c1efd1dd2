"""What `sys.exit()` does to a process of ours: in a task beside, nothing; in what the process is there for, its end."""

from __future__ import annotations

import asyncio
import sys

import anyio
import anyio.lowlevel
import pytest

from batonpass.workers.steady import STEADY


async def leave() -> None:
    sys.exit(3)


async def beside() -> str:
    left = asyncio.create_task(leave())
    with pytest.raises(SystemExit):
        await left
    await anyio.lowlevel.checkpoint()
    return "went on"


def test_a_task_that_exits_stops_nobody_else() -> None:
    assert anyio.run(beside, backend_options=STEADY) == "went on"


def test_a_process_may_exit() -> None:
    """Its loop would run for ever, with nothing to do."""
    with pytest.raises(SystemExit) as left:
        anyio.run(leave, backend_options=STEADY)
    assert left.value.code == 3
