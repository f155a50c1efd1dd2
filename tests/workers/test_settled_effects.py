"""An effect whose outcome is unknown is settled by who looked: it has happened, or it has not and is called again."""

from __future__ import annotations

import contextlib

import pytest

import batonpass as bp

from .serving import Ask, Reply, only, reached, serving
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


async def fails_of(wrong: int, ctx: bp.Context, bank: Bank) -> Reply:
    await ctx.step("before", str.upper, "x")
    paid = await ctx.effect("pay", bank.pay, "k")
    if paid == wrong:
        raise ValueError("the ledger has no such payment")
    return Reply(text=str(paid))


async def test_what_was_told_is_not_taken_back(store_url: str) -> None:
    """It would not be called: its result is in the state."""
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        return await fails_of(7, ctx, bank)

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ambiguous"):
            await job.result(timeout=30)
        with pytest.raises(bp.BadSetup, match="changes= tells a result of effect 'pay', and not_done= says"):
            await coordinator.redrive(job.id, changes={"effect:pay": 7}, not_done=["pay"])
        await coordinator.redrive(job.id, changes={"effect:pay": 7})
        with pytest.raises(bp.JobFailed, match="no such payment"):
            await job.result(timeout=30)
        with pytest.raises(bp.BadSetup, match="has happened"):
            await coordinator.redrive(job.id, not_done=["pay"])
        await coordinator.redrive(job.id, changes={"effect:pay": 8})
        assert (await job.result(timeout=30)).text == "8"


async def test_a_step_of_the_same_name_is_changed(store_url: str) -> None:
    """That tells no result of the effect."""
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        amount = await ctx.step("pay", lambda: "12")
        return Reply(text=f"{amount} {await ctx.effect('pay', bank.pay, 'k')}")

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ambiguous"):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"pay": "13"}, not_done=["pay"])
        assert (await job.result(timeout=30)).text == "13 2"


async def test_a_place_in_a_result_is_edited(store_url: str) -> None:
    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid = await ctx.effect("pay", lambda: {"id": "x"})
        if paid["id"] == "x":
            raise ValueError("x")
        return Reply(text=paid["id"])

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"effect:pay.id": "y"})
        assert (await job.result(timeout=30)).text == "y"


@pytest.mark.parametrize(("fails", "names"), [("before", None), ("after", "'pay'")])
async def test_a_job_that_is_canceled_names_what_is_open(store_url: str, fails: str, names: str | None) -> None:
    """Not what never happened, as the effect itself says."""
    bank = Bank(fails)

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        with contextlib.suppress(bp.Ambiguous, bp.NotDone):
            await ctx.effect("pay", bank.pay, "k")
        await ctx.effect("mail", str.upper, "done")
        return await ctx.ask("go on?", answer=Reply)

    async with serving(only(pays), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.cancel()
        error = str((await job.info()).error).partition("; its last error")[0]
        assert ("may have happened" in error, error.endswith(names or "")) == (names is not None, True)


async def test_what_is_refused_has_changed_nothing(store_url: str) -> None:
    """A later redrive went on from what the refused one had written."""
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        to = await ctx.step("to", lambda: "bob")
        await ctx.effect("pay", bank.pay, to)
        return Reply(text=to)

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ambiguous"):
            await job.result(timeout=30)
        before = [each.id for each in await coordinator.timeline(thread=job.id)]
        for changes in ({"to": "mallory"}, {"to": "mallory", "effect:py": 1}):
            with pytest.raises(bp.BadSetup, match="has not started 'effect:py'"):
                await coordinator.redrive(job.id, changes=changes, not_done=["py"] if len(changes) == 1 else [])
        assert [each.id for each in await coordinator.timeline(thread=job.id)] == before
        await coordinator.redrive(job.id, not_done=["pay"])
        assert (await job.result(timeout=30)).text == "bob"


@pytest.mark.parametrize("key", ["pay.fee", "pay[0]", "pay['fee']", "pay.tax"])
async def test_a_key_that_reads_like_a_place_in_another_result(store_url: str, key: str) -> None:
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid: dict[str, int] = await ctx.effect("pay", dict, fee=1)
        return Reply(text=f"{paid} {await ctx.effect(key, bank.pay, 'k')}")

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ambiguous"):
            await job.result(timeout=30)
        # Unless it is a key itself, the first one is a place.
        await coordinator.redrive(job.id, changes={"effect:pay.fee": 2} | {f"effect:{key}": 7})
        assert (await job.result(timeout=30)).text == f"{{'fee': {1 if key == 'pay.fee' else 2}}} 7"
    assert len(bank.keys) == 1


async def test_a_place_beside_an_outcome_whose_name_it_has(store_url: str) -> None:
    bank = Bank("after")

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        step: dict[str, int] = await ctx.step("pay", dict, b=1)
        return Reply(text=f"{step} {await ctx.effect('pay.b', bank.pay, 'k')}")

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ambiguous"):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"effect:pay.b": 7, "pay.b": 5})
        assert (await job.result(timeout=30)).text == "{'b': 5} 7"


async def test_a_result_and_a_place_in_it(store_url: str) -> None:
    errors = [ValueError("later")]

    async def pays(ask: Ask, ctx: bp.Context) -> Reply:
        paid: dict[str, int] = await ctx.effect("pay", dict, fee=1)
        if errors:
            raise errors.pop()
        return Reply(text=str(paid))

    async with serving(only(pays, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="later"):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"effect:pay": {"id": 1, "fee": 1}, "effect:pay.fee": 2})
        assert (await job.result(timeout=30)).text == "{'id': 1, 'fee': 2}"
