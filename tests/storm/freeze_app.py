"""The agents of the freeze storm: each waits in the middle of a step until a file is there, then goes on."""

from __future__ import annotations

import time
from pathlib import Path

import anyio

import batonpass as bp
from tests.storm.chaos_app import part, pay, step, tell


class Task(bp.Contract, name="freeze.task"):
    number: int
    gate: str


app = bp.App("freeze")


async def wait_async(label: str, gate: str) -> str:
    tell("ran", label)
    while not await anyio.Path(gate).exists():
        await anyio.sleep(0.01)
    return label


def wait(label: str, gate: str) -> str:
    tell("ran", label)
    while not Path(gate).exists():
        time.sleep(0.01)
    return label


@app.agent("here", accepts=Task, returns=Task)
async def here(task: Task, ctx: bp.Context) -> Task:
    """In the worker's loop."""
    await step(ctx, f"{task.number}:0:a")
    await ctx.step("wait", wait_async, f"{task.number}:0:b", task.gate)
    tell("finished", f"{task.number}:0:b")
    await ctx.effect("pay", pay, f"{task.number}:0:pay")
    tell("finished", f"{task.number}:0:pay")
    return task


@app.agent("apart", accepts=Task, returns=Task, isolation="process")
def apart(task: Task, ctx: bp.SyncContext) -> Task:
    """In a child."""
    ctx.step("part", part, f"{task.number}:0:a")
    ctx.step("wait", wait, f"{task.number}:0:b", task.gate)
    tell("finished", f"{task.number}:0:b")
    ctx.effect("pay", pay, f"{task.number}:0:pay")
    tell("finished", f"{task.number}:0:pay")
    return task
