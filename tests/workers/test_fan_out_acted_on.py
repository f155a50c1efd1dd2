"""Fan-outs that lost children: what was done about that stays done, whichever run is told of it, and when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import batonpass as bp
from batonpass.workers.session import LeaseSession

from .serving import Ask, Reply, serving
from .shop import LONG, Shop, fan

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("how", ["an effect", "an effect that is repeated", "a question", "a step", "a fan-out"])
async def test_what_it_did_about_several_when_a_later_run_is_told_in_another_order(how: str, store_url: str) -> None:
    """It canceled the trip because both bookings were lost. A later run is told of the second one only after it has
    called that again, and ends then: it was done nevertheless."""
    later = False

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        canceled = asyncio.Event()

        async def book(number: int) -> Any:
            if later and number == 1:
                await canceled.wait()
            return (await ctx.fan_out(fan(number), failures="collect"))[0]

        one, other = (asyncio.create_task(book(number)) for number in range(2))
        await (one if later else asyncio.gather(one, other))
        if how == "a step":
            await ctx.step("cancel", str)
        elif how == "a fan-out":
            await ctx.fan_out(fan(2))
        elif how == "a question":
            await ctx.ask("cancel it?", timeout=0.1, default="yes")
        else:
            await ctx.effect("cancel", str, unsure="repeat" if "repeated" in how else "stop")
        canceled.set()
        found = [await one, await other]
        if later or shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=" ".join(type(each).__name__ for each in found))

    shop = Shop(parent, fails={0, 1})
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for once_more in (True, False):
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "attempts"
            later = shop.broken = once_more
            await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "ChildFailed ChildFailed"


async def test_the_last_one_is_not_made_again_because_of_another(store_url: str) -> None:
    """What it did because of that one's children stays as it is. The other one's depended on nothing."""
    run = 0

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        nonlocal run
        run += 1
        canceled = asyncio.Event()

        async def first() -> Any:
            if run == 3:
                await canceled.wait()
            [found] = await ctx.fan_out(fan(0), failures="collect")
            if run == 3:
                raise RuntimeError("no luck")
            return found

        async def last() -> Any:
            [found] = await ctx.fan_out(fan(1), failures="collect")
            await ctx.effect("cancel", shop.log.append, "canceled")
            canceled.set()
            return found

        found = await asyncio.gather(first(), last())
        return Reply(text=" ".join(type(each).__name__ for each in found))

    shop = Shop(parent)
    assert await shop.redriven(store_url) == ("children", "Reply ChildFailed")
    assert shop.log == ["canceled", "charged 0"]


async def test_one_that_tolerates_what_another_one_fails_of(store_url: str) -> None:
    """The children of both go on."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        one, other = await asyncio.gather(ctx.fan_out(fan(0), failures="collect"), ctx.fan_out(fan(1)))
        return Reply(text=" ".join(type(each).__name__ for each in one + other))

    shop = Shop(parent)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="the card was refused"):
            await job.result(timeout=LONG)
        shop.broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "Reply Reply"


@pytest.mark.parametrize("how", ["gather", "wait_for", "a thread"])
async def test_a_branch_that_has_others_make_its_fan_out(how: str, store_url: str) -> None:
    """It was there before, and learned of the loss all the same."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        async def branch() -> str:
            if how == "gather":
                [[found]] = await asyncio.gather(ctx.fan_out(fan(0), failures="collect"))
            elif how == "wait_for":
                [found] = await asyncio.wait_for(ctx.fan_out(fan(0), failures="collect"), LONG)
            else:
                [found] = await asyncio.to_thread(ctx.sync.fan_out, fan(0), failures="collect")
            return await ctx.step("cancel", type(found).__name__.upper)

        text = await asyncio.create_task(branch())
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=text)

    shop = Shop(parent)
    assert await shop.redriven(store_url) == ("attempts", "CHILDFAILED")
    assert shop.log == []


@pytest.mark.parametrize("what", ["a step", "an effect"])
async def test_what_had_begun_before_and_ended_after(what: str, store_url: str) -> None:
    """Its result may be made of the loss."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        begun, told = asyncio.Event(), asyncio.Queue[Any]()

        async def look() -> str:
            begun.set()
            return type(await told.get()).__name__

        async def children() -> None:
            await begun.wait()
            await told.put((await ctx.fan_out(fan(0), failures="collect"))[0])

        async def call() -> str:
            called = ctx.step("look", look) if what == "a step" else ctx.effect("look", look, unsure="repeat")
            text = await called
            begun.set()
            return text

        text, _ = await asyncio.gather(call(), children())
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=text)

    shop = Shop(parent)
    assert await shop.redriven(store_url) == ("attempts", "ChildFailed")


async def test_a_step_that_another_task_records_first(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that ran it has not written its record yet when the run ends."""
    real = LeaseSession.asave

    async def held(session: LeaseSession, snapshot: Any, *, records: Any = None) -> Any:
        if not first_run.done() and "step/refund:1" in (records or {}):
            await asyncio.Event().wait()
        return await real(session, snapshot, records=records)

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [found] = await ctx.fan_out(fan(0), failures="collect")

        def refund() -> str:
            return type(found).__name__

        first = asyncio.create_task(ctx.step("refund", refund, key="1"))
        while not first_run.done() and ctx._steps.recorded("refund:1") is None:
            await asyncio.sleep(0)
        text = await ctx.step("refund", refund, key="1")
        first.cancel()
        raise RuntimeError(f"no luck: {text}")

    monkeypatch.setattr(LeaseSession, "asave", held)
    shop, first_run = Shop(parent), asyncio.get_running_loop().create_future()
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match="no luck: ChildFailed") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "attempts"
            if not first_run.done():
                first_run.set_result(None)
                await coordinator.redrive(job.id)


@pytest.mark.parametrize("started", ["then", "before"])
async def test_an_effect_without_an_outcome(started: str, store_url: str) -> None:
    """It may have happened. Also if it had started before, and is done once more."""
    phase = 0 if started == "before" else 1

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        def cancel() -> None:
            raise RuntimeError("no luck")

        if phase:
            await ctx.fan_out(fan(0), failures="collect")
        if phase < 2:
            await ctx.effect("cancel", cancel, unsure="repeat")
        raise RuntimeError("no luck")

    shop = Shop(parent)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        while True:
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "attempts"
            if phase == 2:
                break
            phase += 1
            await coordinator.redrive(job.id)


async def test_all_that_raise_together_go_on_together(store_url: str) -> None:
    """Although it did something since: it says that it failed because of each."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        calls = (ctx.fan_out(fan(number)) for number in range(3))
        found = await asyncio.gather(*calls, return_exceptions=True)
        for pause in (each for each in found if isinstance(each, BaseException) and not isinstance(each, Exception)):
            raise pause
        await ctx.effect("note", str)
        if lost := [each for each in found if isinstance(each, bp.ChildrenFailed)]:
            raise ExceptionGroup("no luck", lost)
        return Reply(text=" ".join(each[0].text for each in found if isinstance(each, list)))

    shop = Shop(parent)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="the card was refused"):
            await job.result(timeout=LONG)
        shop.broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1 2"


async def test_what_was_done_because_they_could_not_go_on_yet(store_url: str) -> None:
    """A redrive tells it that, as long as a person has to find out what became of one: it is told of the loss."""
    unsure = True
    app, log = bp.App("unsure"), list[str]()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        if unsure:
            raise bp.Ambiguous("who knows") if ask.number else ValueError("the card was refused")
        log.append(f"charged {ask.number}")
        return Reply(text="")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            await ctx.fan_out([*fan(0), *fan(1)], failures=1)
        except bp.ChildrenFailed as error:
            if "go on yet" not in str(error):
                raise
            await ctx.effect("cancel", log.append, "canceled")
        raise RuntimeError("no luck")

    async with serving(app, store_url, concurrency=1) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for text in ("children of job", "no luck"):
            with pytest.raises(bp.JobFailed, match=text):
                await job.result(timeout=LONG)
            children = await coordinator.jobs(parent=job.id, state=bp.JobState.FAILED)
            if text == "no luck":
                unsure = False
                [known] = [each for each in children if each.reason == "ambiguous"]
                await coordinator.redrive(known.id)
                await coordinator.job(known.id).result(timeout=LONG)
            await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=LONG)
    assert log == ["canceled", "charged 1"]


@pytest.mark.parametrize("alone", ["", "completed", "canceled"])
async def test_a_person_has_them_go_on_all_the_same(alone: str, store_url: str) -> None:
    """And what they had done is not done again, also if they were redriven alone before."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        one = await ctx.fan_out(fan(0), failures="collect")
        await ctx.effect("cancel", shop.log.append, "canceled")
        [other] = await ctx.fan_out(fan(1))
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=" ".join(type(each).__name__ for each in [*one, other]))

    shop = Shop(parent, fails={0}, waits=alone == "canceled")
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
        shop.broken = False
        [child] = [each for each in await coordinator.jobs(parent=job.id) if each.state == "failed"]
        if alone:
            await coordinator.redrive(child.id)
        if alone == "canceled":
            await asyncio.wait_for(shop.charged.wait(), LONG)
            await coordinator.job(child.id).cancel()
            shop.waits = False
        elif alone:
            await coordinator.job(child.id, returns=Reply).result(timeout=LONG)
        await coordinator.redrive(job.id, lost_children=True)
        assert (await job.result(timeout=LONG)).text == "Reply Reply"
    assert sorted(shop.log) == ["canceled", "charged 0", "charged 1"]


async def test_none_are_lost(store_url: str) -> None:
    """Only one was canceled that it did not need. Or it has not failed: nothing is changed."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        found, _ = await ctx.fan_out([*fan(0), *fan(1)], wait="any")
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=found.text)

    shop = Shop(parent, fails=set())
    async with serving(shop.app, store_url, concurrency=1) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
        with pytest.raises(bp.BadSetup, match="has lost no children: redrive it without"):
            await coordinator.redrive(job.id, lost_children=True)
        shop.broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0"
        with pytest.raises(bp.WrongState, match="only a failed job"):
            await coordinator.redrive(job.id, lost_children=True)


async def test_one_that_needs_no_more_is_told_the_same_again(store_url: str) -> None:
    """One of its children had failed, and it needed only the other one."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        one = [*fan(0), *fan(1)]
        first = await ctx.fan_out(one, wait=1, failures=1)
        await ctx.effect("note", str, [type(each).__name__ for each in first])
        [other] = await ctx.fan_out(fan(2), failures="collect")
        await ctx.step("note", str)
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=" ".join(type(each).__name__ for each in [*first, other]))

    shop = Shop(parent, fails={0, 2})
    async with serving(shop.app, store_url, concurrency=1) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
        shop.broken = False
        await coordinator.redrive(job.id, lost_children=True)
        assert (await job.result(timeout=LONG)).text == "ChildFailed Reply Reply"
