"""Children whose parent is redriven, and what they did that must not happen twice."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp
from tests.workers.serving import Ask, Reply, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


async def test_effects_of_children_that_go_on(store_url: str) -> None:
    """What happened is not done again, and neither is what may have happened. (A child of a child's, too.)"""
    app, keys, raised = bp.App("effects"), list[str](), anyio.Event()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        async def pay(key: str) -> None:
            keys.append(key)
            if ask.number == 1 and len(keys) == 2:
                raise ConnectionError("the reply was lost")

        if ask.number == 1:
            with anyio.fail_after(LONG):
                await raised.wait()
        await ctx.effect("pay", pay, ctx.effect_key("pay"))
        if ask.number == 0 and not raised.is_set():
            raised.set()
            raise ValueError("after it")
        return Reply(text=str(ask.number))

    @app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in (0, 1)], failures=1)
        return Reply(text="done")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"middle": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("middle", ask)])
        return Reply(text=str(only.text))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 1 children"):
            await job.result(timeout=LONG)
        letters = {letter.id: letter.reason for letter in await coordinator.dead_letters()}
        assert sorted(letters.values()) == ["ambiguous", "attempts", "children", "children"]
        [unsure] = [id_ for id_, reason in letters.items() if reason == "ambiguous"]
        [between] = [info.id for info in await coordinator.jobs() if info.agent == "middle"]
        for id_ in (job.id, between, job.id):
            await coordinator.redrive(id_)
            with pytest.raises(bp.JobFailed, match=f"effects of {unsure} may have happened, so find out, and redrive"):
                await coordinator.job(id_, returns=Reply).result(timeout=LONG)
        assert len(keys) == 2
        for id_ in (unsure, between, job.id):
            await coordinator.redrive(id_, changes={"effect:pay": None} if id_ == unsure else None)
            await coordinator.job(id_, returns=Reply).result(timeout=LONG)
        assert keys[0] == f"{job.id}.0/fan_out/0.0/fan_out/0.0.pay"


async def test_an_effect_of_a_child_that_was_redriven_alone_and_canceled(store_url: str) -> None:
    """In the middle of it. When the parent is redriven, the child does not begin anew without a word."""
    app, paid, does = bp.App("alone"), list[str](), ["fails", "pays", "pays"]

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        async def pay() -> None:
            paid.append(ctx.job_id)
            await anyio.sleep(LONG if len(paid) == 1 else 0)

        if does.pop(0) == "fails":
            raise ValueError("before it")
        await ctx.effect("pay", pay)
        return Reply(text="paid")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        return Reply(text=only.text)

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=LONG)
        [info] = await coordinator.jobs(parent=job.id)
        await coordinator.redrive(info.id)
        with anyio.fail_after(LONG):
            while not paid:
                await anyio.sleep(0.005)
        await coordinator.job(info.id).cancel()
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=LONG)
        assert (await coordinator.job(info.id).info()).reason == "ambiguous"
        assert paid == [info.id]


class Family:
    """A parent whose one child does what `acts` say, one for each of its runs. "pays" loses the reply."""

    def __init__(self, *acts: str) -> None:
        self.acts = list(acts)
        self.paid: list[str] = []
        self.app = bp.App("family")
        self.gate = anyio.Event()
        self.app.agent("child", accepts=Ask, returns=Reply, hands_to={"next": Ask}, retries=1)(self._child)
        self.app.agent("next", accepts=Ask, returns=Reply)(self._next)
        self.app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})(self._parent)

    async def _child(self, ask: Ask, ctx: bp.Context) -> Reply | bp.Handoff[Ask]:
        act = self.acts.pop(0)
        if act == "raises":
            raise ValueError("before it pays")
        if act == "rejects":
            ctx.reject("there is nothing to pay")
        if act in ("catches", "hands off", "passes over it"):
            try:
                await ctx.effect("pay", self._pay, ctx.effect_key("pay"), "pays")
            except (ConnectionError, bp.Ambiguous):
                if act == "hands off":
                    return ctx.hand_off("next", ask)
                if act == "passes over it":
                    return Reply(text="not paid")
                ctx.reject("it can't be paid")
        if act == "waits":
            await self.gate.wait()
        else:
            await ctx.effect(
                "pay", self._pay, ctx.effect_key("pay"), act, unsure="repeat" if act == "again" else "stop"
            )
        return Reply(text=act)

    async def _next(self, ask: Ask, ctx: bp.Context) -> Reply:
        ctx.reject("it can't be paid")

    def _pay(self, key: str, act: str) -> None:
        self.paid.append(key)
        if act == "pays":
            raise ConnectionError("the reply was lost")

    async def _parent(self, ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        return Reply(text=str(only.text))

    async def failed(self, coordinator: bp.Coordinator) -> tuple[bp.Job[Reply], bp.Job[Reply]]:
        """The parent and the child, both dead letters."""
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 1 children"):
            await job.result(timeout=LONG)
        [child] = [info.id for info in await coordinator.jobs() if info.parent]
        return job, coordinator.job(child, returns=Reply)


async def test_a_child_that_was_redriven_and_may_have_paid_then(store_url: str) -> None:
    family = Family("raises", "pays", "last")
    async with serving(family.app, store_url) as coordinator:
        job, child = await family.failed(coordinator)
        await coordinator.redrive(child.id)
        assert (await reached(child, bp.JobState.FAILED)).reason == "ambiguous"
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match=f"effects of {child.id} may have happened"):
            await job.result(timeout=LONG)
        assert len(family.paid) == 1


async def test_a_child_that_may_have_paid_and_ended_otherwise_in_the_end(store_url: str) -> None:
    """Once a person has looked, another is made. Until then, it can't reject what it may have paid."""
    family = Family("pays", "rejects", "rejects", "last")
    async with serving(family.app, store_url) as coordinator:
        job, child = await family.failed(coordinator)
        await coordinator.redrive(child.id)
        assert (await reached(child, bp.JobState.FAILED, bp.JobState.REJECTED)).reason == "ambiguous"
        await coordinator.redrive(child.id, not_done=["pay"])
        await reached(child, bp.JobState.REJECTED)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "last"
        assert len(set(family.paid)) == 1  # the key is the same


@pytest.mark.parametrize("act", ["catches", "hands off"])
async def test_a_child_does_not_reject_what_it_may_have_paid(store_url: str, act: str) -> None:
    """Although it was told, nor hand it on to one that may. When the parent was redriven, another one was made, and
    paid again."""
    family = Family(act, "last")
    async with serving(family.app, store_url) as coordinator:
        job, child = await family.failed(coordinator)
        assert (await child.info()).reason == "ambiguous"
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match=f"effects of {child.id} may have happened"):
            await job.result(timeout=LONG)
        await coordinator.redrive(child.id, changes={"effect:pay": None})
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "last"
        assert len(family.paid) == 1


async def test_nor_does_its_parent(store_url: str) -> None:
    """Which is a child, too: it knew nothing of the payment, and its own parent made it anew, and it its child."""
    family = Family("passes over it", "last")

    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        ctx.reject(f"it is {only.text}")

    async def top(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("middle", ask)])
        return Reply(text=str(only.text))

    family.app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})(middle)
    family.app.agent("top", accepts=Ask, returns=Reply, hands_to={"middle": Ask})(top)
    async with serving(family.app, store_url) as coordinator:
        job = await coordinator.submit("top", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 1 children"):
            await job.result(timeout=LONG)
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match=r"effects of .* may have happened"):
            await job.result(timeout=LONG)
    assert len(family.paid) == 1


async def test_a_child_that_was_redriven_and_runs(store_url: str) -> None:
    """It is waited for, and none is made beside it."""
    family = Family("raises", "waits")
    async with serving(family.app, store_url) as coordinator:
        job, child = await family.failed(coordinator)
        await coordinator.redrive(child.id)
        await coordinator.redrive(job.id)
        with anyio.fail_after(LONG):
            while (await job.info()).reason != "waiting_children":
                await anyio.sleep(0.005)
        family.gate.set()
        assert (await job.result(timeout=LONG)).text == "waits"
        assert len(await coordinator.jobs()) == 2


async def test_a_child_that_was_canceled_while_it_paid(store_url: str) -> None:
    """It may have paid, so that is for a person to find out."""
    app, paid = bp.App("canceled"), list[int]()
    began = anyio.Event()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        async def pay() -> None:
            paid.append(ask.number)
            began.set()
            await anyio.sleep_forever()

        if ask.number == 0:
            await ctx.effect("pay", pay)
        await began.wait()
        raise ValueError("cancels the other")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.fan_out([bp.Handoff("child", Ask(number=each)) for each in range(2)])
        return Reply(text="done")

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 2 children"):
            await job.result(timeout=LONG)
        with anyio.fail_after(LONG):
            while not [info for info in await coordinator.jobs() if info.state == bp.JobState.CANCELED]:
                await anyio.sleep(0.005)
        await coordinator.redrive(job.id)
        with anyio.fail_after(LONG):
            while "ambiguous" not in [letter.reason for letter in await coordinator.dead_letters()]:
                await anyio.sleep(0.005)
        assert paid == [0]
