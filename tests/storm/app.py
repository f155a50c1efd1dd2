"""The agents of the kill storm: recorded steps and a handoff, each leaving evidence."""

from __future__ import annotations

import anyio

import batonpass as bp
from tests.apps import evidence


class Task(bp.Contract, name="storm.task"):
    number: int


app = bp.App("storm")


async def work(label: str) -> str:
    """Takes a moment, so that a kill may fall into it."""
    evidence.note(f"ran {label}")
    await anyio.sleep(0.01)
    return label


async def step(ctx: bp.Context, label: str) -> None:
    """A step; that it is noted as finished means that its record was acknowledged."""
    await ctx.step("work", work, label)
    evidence.note(f"finished {label}")


@app.agent("begin", accepts=Task, hands_to={"end": Task})
async def begin(task: Task, ctx: bp.Context) -> bp.Handoff:
    for part in range(3):
        await step(ctx, f"{task.number}:begin:{part}")
    return ctx.hand_off("end", task)


@app.agent("end", accepts=Task, returns=Task)
async def end(task: Task, ctx: bp.Context) -> Task:
    for part in range(2):
        await step(ctx, f"{task.number}:end:{part}")
    return task
