"""A worker takes urgent jobs first, and still takes the others at some time."""

from __future__ import annotations

import batonpass as bp
from batonpass.contracts import event as kinds
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.commands import Claim


class Task(bp.Contract, name="priorities.task"):
    name: str


async def test_high_before_low_and_low_at_all() -> None:
    """There is one slot, and whenever a job is done, there are new ones of high priority."""
    app, ran = bp.App("priorities"), list[str]()

    @app.agent("do", accepts=Task, returns=Task)
    async def do(task: Task, ctx: bp.Context) -> Task:
        ran.append(task.name)
        if "low" not in ran:
            await coordinator.submit("do", Task(name="high"), priority="high")
        return task

    async with bp.connect("memory://", app=app) as coordinator:
        last = await coordinator.submit("do", Task(name="low"), priority="low")
        await coordinator.submit("do", Task(name="normal"))
        for _ in range(2):
            await coordinator.submit("do", Task(name="high"), priority="high")
        async with app.worker(coordinator, concurrency=1):
            await last.result(timeout=30)
    # 1 in 10 claims begins with the lowest: 200 in a row that do not are 1 in a billion.
    assert 1 <= len(ran) <= 200
    assert ran.count("high") > 0 or len(ran) < 3


async def test_normal_ones_although_high_and_low_ones_keep_coming() -> None:
    """The one in ten always began with the lowest, which left nothing for those between."""
    app, ran = bp.App("priorities"), list[str]()

    @app.agent("do", accepts=Task, returns=Task)
    async def do(task: Task, ctx: bp.Context) -> Task:
        ran.append(task.name)
        if task.name != "normal" and "normal" not in ran and len(ran) < 500:
            await coordinator.submit("do", task, priority="high" if task.name == "high" else "low")
        return task

    async with bp.connect("memory://", app=app) as coordinator:
        job = await coordinator.submit("do", Task(name="normal"))
        for name in ("high", "low"):
            for _ in range(2):
                await coordinator.submit("do", Task(name=name), priority="high" if name == "high" else "low")
        async with app.worker(coordinator, concurrency=1):
            await job.result(timeout=30)
    # 1 in 20 claims begins with it: 500 in a row that do not are 1 in 100 billion.
    assert ran.index("normal") < 500
    assert ran.count("high") > ran.count("low")


async def test_handoffs_keep_it() -> None:
    app = bp.App("onward")

    @app.agent("first", accepts=Task, hands_to={"second": Task})
    async def first(task: Task, ctx: bp.Context) -> bp.Handoff[Task]:
        return ctx.hand_off("second", task)

    @app.agent("second", accepts=Task, returns=Task)
    async def second(task: Task, ctx: bp.Context) -> Task:
        return task

    async with bp.connect("memory://", app=app) as coordinator:
        job = await coordinator.submit("first", Task(name="x"), priority="high")
        async with app.worker(coordinator, agents=["first"]):
            async for event in coordinator.events(job=job.id, follow=True):
                if event.type == kinds.HANDED_OFF:
                    break
        queue = queue_of("second", bp.ContractRef("priorities.task", 1), 1)
        [delivery] = await coordinator.store.acall(Claim("w", ((queue, 1000),), (mint("l"),)))
        assert delivery.job.id == job.id
