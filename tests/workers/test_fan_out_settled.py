"""Fan-outs whose parent went on without lost children: what it was told of them stays, whatever they do later."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, reached, serving
from .shop import LONG, Shop, fan

pytestmark = pytest.mark.anyio


async def _fails(job: bp.Job[Reply]) -> str:
    with pytest.raises(bp.JobFailed, match="no luck") as failed:
        await job.result(timeout=LONG)
    return failed.value.reason


async def _redriven_alone(coordinator: bp.Coordinator, job: bp.Job[Reply]) -> None:
    """Its failed children are redriven and end, those that can complete."""
    for child in await coordinator.jobs(parent=job.id, state="failed"):
        await coordinator.redrive(child.id)
    with anyio.fail_after(LONG):
        while [child for child in await coordinator.jobs(parent=job.id) if not child.state.ended]:
            await anyio.sleep(0.01)


async def test_one_that_needed_no_more_keeps_what_was_missing(store_url: str) -> None:
    """It reported which children it had. A later run comes to the same report."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        found = await ctx.fan_out([*fan(0), *fan(1)], wait=1, failures="collect")
        kinds = " ".join(type(each).__name__ for each in found)
        if "Reply" not in kinds:
            raise RuntimeError("no luck")
        await ctx.effect("report", shop.log.append, kinds)
        await ctx.ask("go on?")
        return Reply(text=kinds)

    failing = {0, 1}
    shop = Shop(parent, fails=failing)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert await _fails(job) == "children"
        failing.remove(1)
        await _redriven_alone(coordinator, job)
        await coordinator.redrive(job.id)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        failing.remove(0)
        await _redriven_alone(coordinator, job)
        assert {child.state for child in await coordinator.jobs(parent=job.id)} == {"completed"}
        [question] = await coordinator.inbox()
        await coordinator.answer(question.job, "yes")
        reported = (await job.result(timeout=LONG)).text
    assert shop.log == ["charged 1", reported, "charged 0"]


@pytest.mark.parametrize("lost", ["collect", "fail_fast"])
async def test_the_last_one_while_another_one_failed_the_job(lost: Any, store_url: str) -> None:
    """It canceled an order because of the last one. Its child, redriven alone, charges the card after that, as a person
    wants it; the parent goes on as if it had not."""
    run = 0

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        nonlocal run
        run += 1
        over = asyncio.Event()

        async def first() -> Any:
            if run == 3:
                await over.wait()
            [found] = await ctx.fan_out(fan(0), failures="collect")
            return found

        async def last() -> Any:
            if run == 1:
                await asyncio.sleep(0)
            try:
                found = (await ctx.fan_out([*fan(1), *fan(2)], failures=lost))[0]
            except bp.ChildrenFailed as error:
                found = error.failed[0]
            if isinstance(found, bp.ChildFailed):
                await ctx.effect("cancel", shop.log.append, "canceled")
            over.set()
            return found

        found = await asyncio.gather(first(), last())
        if isinstance(found[0], bp.ChildFailed):
            raise RuntimeError("no luck")
        return Reply(text=" ".join(type(each).__name__ for each in found))

    shop = Shop(parent, fails={0, 1})
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert await _fails(job) == "children"
        shop.broken = False
        await _redriven_alone(coordinator, job)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "Reply ChildFailed"


async def test_one_that_failed_the_job_after_that(store_url: str) -> None:
    """What its child has done meanwhile counts, also when the child's job is forgotten."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            found: list[Any] = await ctx.fan_out(fan(0))
        except bp.ChildrenFailed:
            await ctx.effect("tell", shop.log.append, "told")
            raise
        return Reply(text=found[0].text)

    shop = Shop(parent)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="the card was refused"):
            await job.result(timeout=LONG)
        shop.broken = False
        await _redriven_alone(coordinator, job)
        [child] = await coordinator.jobs(parent=job.id)
        await coordinator.delete_job(child.id)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0"
    assert shop.log == ["told", "charged 0"]
