"""Children that are redriven alone, before their parents."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "by its parent"])
async def test_one_that_was_canceled_then_has_its_own_children_go_on(alone: bool, store_url: str) -> None:
    """When its parent is redriven: else they were made anew, and did again what they had done."""
    app, paid = bp.App("house"), list[str]()
    broken, away = True, anyio.Event()

    async def handed(ctx: bp.Context, agent: str) -> str:
        [found] = await ctx.fan_out([bp.Handoff(agent, Ask())])
        return str(found.text)

    @app.agent("grandchild", accepts=Ask, returns=Reply, retries=1)
    async def grandchild(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", paid.append, "paid")
        await away.wait()
        return Reply(text="done")

    @app.agent("child", accepts=Ask, returns=Reply, hands_to={"grandchild": Ask}, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        if broken:
            raise ValueError("broken")
        return Reply(text=await handed(ctx, "grandchild"))

    @app.agent("parent", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await handed(ctx, "child"))

    async with serving(app, store_url) as coordinator:
        top = await coordinator.submit("parent", Ask(), returns=Reply)
        await reached(top, bp.JobState.FAILED)
        [below] = await coordinator.dead_letters(agent="child")
        broken = False
        await coordinator.redrive(below.id if alone else top.id)
        with anyio.fail_after(LONG):
            while not paid:
                await anyio.sleep(0.005)
        await coordinator.job(below.id).cancel()
        [lowest] = await coordinator.jobs(agent="grandchild")
        await reached(coordinator.job(lowest.id), bp.JobState.CANCELED)
        away.set()
        await reached(top, bp.JobState.FAILED)
        await coordinator.redrive(top.id)
        assert (await top.result(timeout=LONG)).text == "done"
    assert paid == ["paid"]


async def test_one_whose_parent_goes_on_and_fails_over_it_later(store_url: str) -> None:
    """It is canceled while its parent still works, which has enough of its results by then."""
    app, paid = bp.App("house"), list[str]()
    broken, away, goes_on = True, anyio.Event(), anyio.Event()

    @app.agent("grandchild", accepts=Ask, returns=Reply, retries=1)
    async def grandchild(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", paid.append, "paid")
        await away.wait()
        return Reply(text="done")

    @app.agent("child", accepts=Ask, returns=Reply, hands_to={"grandchild": Ask}, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        if broken:
            raise ValueError("broken")
        [found] = await ctx.fan_out([bp.Handoff("grandchild", Ask())])
        return Reply(text=found.text)

    @app.agent("parent", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [found] = await ctx.fan_out([bp.Handoff("child", Ask())], failures="collect")
        if isinstance(found, bp.ChildFailed):
            await goes_on.wait()
            raise RuntimeError("no luck")
        return Reply(text=found.text)

    async with serving(app, store_url) as coordinator:
        top = await coordinator.submit("parent", Ask(), returns=Reply)
        with anyio.fail_after(LONG):
            while not (letters := await coordinator.dead_letters(agent="child")):
                await anyio.sleep(0.005)
        broken = False
        await coordinator.redrive(letters[0].id)
        with anyio.fail_after(LONG):
            while not paid:
                await anyio.sleep(0.005)
        await coordinator.job(letters[0].id).cancel()
        [lowest] = await coordinator.jobs(agent="grandchild")
        await reached(coordinator.job(lowest.id), bp.JobState.CANCELED)
        goes_on.set()
        away.set()
        assert (await reached(top, bp.JobState.FAILED)).reason == "children"
        await coordinator.redrive(top.id)
        assert (await top.result(timeout=LONG)).text == "done"
    assert paid == ["paid"]
