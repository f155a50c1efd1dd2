"""Children that are redriven alone, before their parents, and canceled then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


class House:
    """A parent, its child, which fails at first, and that one's own child, which pays and goes on when it is `away`."""

    def __init__(self, parent: Callable[..., Any]) -> None:
        self.broken, self.paid, self.away = True, list[str](), anyio.Event()
        app = self.app = bp.App("house")
        app.agent("grandchild", accepts=Ask, returns=Reply, retries=1)(self._grandchild)
        app.agent("child", accepts=Ask, returns=Reply, hands_to={"grandchild": Ask}, retries=1)(self._child)
        app.agent("parent", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)(parent)

    async def _grandchild(self, ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", self.paid.append, "paid")
        await self.away.wait()
        return Reply(text="done")

    async def _child(self, ask: Ask, ctx: bp.Context) -> Reply:
        if self.broken:
            raise ValueError("broken")
        [found] = await ctx.fan_out([bp.Handoff("grandchild", Ask())])
        return Reply(text=found.text)

    async def canceled(self, coordinator: bp.Coordinator, child: str) -> None:
        """Cancel the child once its own has paid, and wait until that one is canceled, too."""
        with anyio.fail_after(LONG):
            while not self.paid:
                await anyio.sleep(0.005)
        await coordinator.job(child).cancel()
        [lowest] = await coordinator.jobs(agent="grandchild")
        await reached(coordinator.job(lowest.id), bp.JobState.CANCELED)
        self.away.set()


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "by its parent"])
async def test_one_that_was_canceled_then_has_its_own_children_go_on(alone: bool, store_url: str) -> None:
    """When its parent is redriven: else they were made anew, and did again what they had done."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [found] = await ctx.fan_out([bp.Handoff("child", Ask())])
        return Reply(text=found.text)

    house = House(parent)
    async with serving(house.app, store_url) as coordinator:
        top = await coordinator.submit("parent", Ask(), returns=Reply)
        await reached(top, bp.JobState.FAILED)
        [below] = await coordinator.dead_letters(agent="child")
        house.broken = False
        await coordinator.redrive(below.id if alone else top.id)
        await house.canceled(coordinator, below.id)
        await reached(top, bp.JobState.FAILED)
        await coordinator.redrive(top.id)
        assert (await top.result(timeout=LONG)).text == "done"
    assert house.paid == ["paid"]


async def test_one_whose_parent_goes_on_and_fails_over_it_later(store_url: str) -> None:
    """It is canceled while its parent still works, which has enough of its results by then."""
    goes_on = anyio.Event()

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [found] = await ctx.fan_out([bp.Handoff("child", Ask())], failures="collect")
        if isinstance(found, bp.ChildFailed):
            await goes_on.wait()
            raise RuntimeError("no luck")
        return Reply(text=found.text)

    house = House(parent)
    async with serving(house.app, store_url) as coordinator:
        top = await coordinator.submit("parent", Ask(), returns=Reply)
        letters: list[bp.JobInfo] = []
        with anyio.fail_after(LONG):
            while not letters:
                letters = await coordinator.dead_letters(agent="child")
                await anyio.sleep(0.005)
        house.broken = False
        await coordinator.redrive(letters[0].id)
        await house.canceled(coordinator, letters[0].id)
        goes_on.set()
        assert (await reached(top, bp.JobState.FAILED)).reason == "children"
        await coordinator.redrive(top.id)
        assert (await top.result(timeout=LONG)).text == "done"
    assert house.paid == ["paid"]
