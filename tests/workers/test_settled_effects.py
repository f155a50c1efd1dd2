"""An effect whose outcome is unknown is settled by who looked: it has happened, or it has not and is called again."""

from __future__ import annotations

import pytest

import batonpass as bp

from .serving import Ask, Reply, only, serving
from .test_effects import Bank


async def test_an_ambiguous_effect_is_settled_by_who_looked(store_url: str) -> None:
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("before", str.upper, "x")
        return Reply(text=str(await ctx.effect("pay", bank.pay, "k")))

    async with serving(only(pays), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"redrive the job with changes=\{'effect:pay': RESULT\}"):
            await job.result(timeout=30)
        with pytest.raises(
            bp.BadSetup, match="not started 'effect:refund', so it has no outcome to tell: it has effect:pay"
        ):
            await coordinator.redrive(job.id, changes={"effect:pay": 7, "effect:refund": 7})
        await coordinator.redrive(job.id, changes={"effect:pay": 7})
        assert (await job.result(timeout=30)).text == "7"
    assert len(bank.keys) == 1


async def test_an_effect_that_has_not_happened_is_called_again(store_url: str) -> None:
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid = await ctx.effect("pay", bank.pay, ctx.effect_key("pay"))
        return Reply(text=str(paid))

    async with serving(only(pays), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"if it has not happened, with not_done=\['pay'\]"):
            await job.result(timeout=30)
        for wrong, said in ("pay", "must be a list"), (["refund"], r"not started 'effect:refund'.*: it has effect:pay"):
            with pytest.raises(bp.BadSetup, match=said):
                await coordinator.redrive(job.id, not_done=wrong)
        await coordinator.redrive(job.id, not_done=["pay"])
        assert (await job.result(timeout=30)).text == "2"
    assert bank.keys == [f"{job.id}.0.pay"] * 2


async def test_what_has_happened_is_not_taken_back(store_url: str) -> None:
    bank = Bank()

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", bank.pay, "k")
        raise ValueError("after it")

    async with serving(only(pays), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
        with pytest.raises(bp.BadSetup, match=r"'pay' .* has happened: its result is recorded"):
            await coordinator.redrive(job.id, not_done=["pay"])
    assert len(bank.keys) == 1
