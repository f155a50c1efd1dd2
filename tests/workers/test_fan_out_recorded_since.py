"""A parent that had recorded more after its children failed, before it failed because of them, and is redriven."""

from __future__ import annotations

from collections import Counter

import pytest

import batonpass as bp
from batonpass.workers.context import fan_out
from tests.workers.serving import Ask, Reply, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


class Order:
    """A parent of children 0 and 1, of which the second fails `times` times. Before it fails of that, the parent makes
    more of what its children did: see `then`."""

    def __init__(self, then: str, times: int = 1, more: int = 1) -> None:
        self.then, self.times, self.more = then, times, more
        self.runs = Counter[str]()
        self.made = list[str]()
        self.app = bp.App("order")
        self.app.agent("child", accepts=Ask, returns=Reply, retries=1)(self._child)
        self.app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)(self._parent)

    async def _child(self, ask: Ask, ctx: bp.Context) -> Reply:
        name = ask.text or str(ask.number)
        if ask.text:
            ctx.spend(tokens=10)
        self.runs[name] += 1
        if name == "1" and self.runs[name] <= self.times:
            raise ValueError("broken")
        return Reply(text=name)

    async def _parent(self, ask: Ask, ctx: bp.Context) -> Reply:
        results, lost = list[Reply](), None
        try:
            results = await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(2)])
        except bp.ChildrenFailed as error:
            lost = error
        done = f"with {len(results)}"
        if self.then == "tells the same":
            await ctx.step("note", self._note, "it has ended")
        elif self.then == "notes":
            await ctx.step("note", self._note, done)
        elif self.then == "pays":
            await ctx.effect("pay", self._note, done)
        elif self.then == "asks":
            self._note(str(await ctx.ask(f"go on {done}?")))
        else:
            await ctx.fan_out([bp.Handoff("child", Ask(text=done))] * self.more)
        if lost:
            raise RuntimeError("the order failed") from lost
        return Reply(text=f"{done} for {ctx.spent.tokens}")

    def _note(self, said: str) -> None:
        self.made.append(said)


async def failing(order: Order, job: bp.Job[Reply]) -> None:
    if order.then == "asks" and not order.made:
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("no")
    with pytest.raises(bp.JobFailed, match="the order failed") as failed:
        await job.result(timeout=LONG)
    assert failed.value.reason == "children"


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("then", ["fans out", "notes", "asks"])
async def test_what_does_not_fit_any_more_is_made_anew(then: str, times: int, store_url: str) -> None:
    """Each redrive of it ended as `refused`. What was spent before counts, too."""
    order = Order(then, times)
    async with serving(order.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(times):
            await failing(order, job)
            await coordinator.redrive(job.id)
        if then == "asks":
            await reached(job, bp.JobState.INPUT_REQUIRED)
            [item] = await coordinator.inbox()
            assert item.question == "go on with 2?"
            await job.answer("yes")
        assert (await job.result(timeout=LONG)).text == f"with 2 for {20 if then == 'fans out' else 0}"
    assert order.runs["1"] == times + 1


async def test_what_fits_is_not_made_again(store_url: str) -> None:
    order = Order("tells the same")
    async with serving(order.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await failing(order, job)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "with 2 for 0"
    assert order.made == ["it has ended"]


async def test_an_effect_that_does_not_fit_any_more_is_for_a_person(store_url: str) -> None:
    """It has happened, and with other arguments it would be another one."""
    order = Order("pays")
    async with serving(order.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await failing(order, job)
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match="or if children of it have completed since, redrive with the result"):
            await job.result(timeout=LONG)
        await coordinator.redrive(job.id, changes={"effect:pay": None})
        assert (await job.result(timeout=LONG)).text == "with 2 for 0"
    assert order.made == ["with 0"]


async def test_what_does_not_fit_any_more_after_a_child_was_redriven_alone(store_url: str) -> None:
    order = Order("fans out")
    async with serving(order.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await failing(order, job)
        for child in await coordinator.jobs(parent=job.id):
            if child.state is bp.JobState.FAILED:
                await coordinator.redrive(child.id)
                await coordinator.job(child.id).result(timeout=LONG)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "with 2 for 20"
    assert order.runs["1"] == 2


async def test_what_many_children_spent_counts_too(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the store tells of at once."""
    monkeypatch.setattr(fan_out, "AT_ONCE", 2)
    order = Order("fans out", more=3)
    async with serving(order.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await failing(order, job)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "with 2 for 60"
