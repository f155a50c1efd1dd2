"""The app of agents that block their worker's event loop, until the test opens a gate."""

from __future__ import annotations

import asyncio

import batonpass as bp

from .agents import Done, Task, gated, gated_async

app = bp.App("blocking")


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
