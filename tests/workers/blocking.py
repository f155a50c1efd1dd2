"""The app of agents that block their worker's event loop, until the test opens a gate."""

from __future__ import annotations

import asyncio
import ctypes

import batonpass as bp

from .agents import Done, Task, gated, gated_async

app = bp.App("blocking")
_HELD: list[str] = []


@app.agent("blocks", accepts=Task, returns=Done)
async def blocks(task: Task) -> Done:
    return Done(words=[gated(task.text, task.text)])


@app.agent("blocks-in-task", accepts=Task, returns=Done)
async def blocks_in_task(task: Task) -> Done:
    """The way a framework runs a node."""

    async def node() -> str:
        return gated(task.text, task.text)

    return Done(words=[await asyncio.create_task(node())])


@app.agent("waits", accepts=Task, returns=Done)
async def waits(task: Task) -> Done:
    return Done(words=[await gated_async(task.text, task.text)])


@app.agent("holds-the-lock", accepts=Task, returns=Done)
def holds_the_lock(task: Task) -> Done:
    """Keeps Python's lock, which PyDLL doesn't let go: once, as the worker takes the job over from itself."""
    if not _HELD:
        _HELD.append(task.text)
        ctypes.PyDLL(None).usleep(int(task.seconds * 1_000_000))
    return Done(words=[task.text])
