"""`sys.exit()` and KeyboardInterrupt don't harm a process of ours if they come from a side task, and end it if they
come from its main work."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from batonpass.workers.children.steady_loop import STEADY


async def leave() -> None:
    sys.exit(3)


async def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("code", "error"), [(leave, SystemExit), (interrupt, KeyboardInterrupt)])
def test_a_task_that_exits_stops_nobody_else(
    code: Callable[[], Coroutine[Any, Any, None]], error: type[BaseException]
) -> None:
    async def beside() -> str:
        left = asyncio.create_task(code())
        with pytest.raises(error):
            await left
        await anyio.lowlevel.checkpoint()
        return "went on"

    assert anyio.run(beside, backend_options=STEADY) == "went on"


def test_a_process_may_exit() -> None:
    """Otherwise its loop would run forever with nothing to do."""
    with pytest.raises(SystemExit) as left:
        anyio.run(leave, backend_options=STEADY)
    assert left.value.code == 3
    with pytest.raises(KeyboardInterrupt):
        anyio.run(interrupt, backend_options=STEADY)
