"""Fan-outs that lost children, and what other tasks and threads of their parent do meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import batonpass as bp

from .serving import Ask, Reply, serving
from .shop import LONG, Shop, fan

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("how", ["in a thread", "in a task that waits", "in a pool"])
async def test_what_it_did_for_a_lost_child_is_not_done_beside_it(how: str, store_url: str) -> None:
    """It canceled the order, wherever its code did that, so that the child must not charge the card later."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        lost: asyncio.Queue[Any] = asyncio.Queue()

        async def cancels() -> None:
            if isinstance(await lost.get(), bp.ChildFailed):
                await ctx.effect("cancel", shop.log.append, "canceled")

        waits = asyncio.create_task(cancels()) if how == "in a task that waits" else None
        [found] = await ctx.fan_out(fan(0), failures="collect")
        await lost.put(found)
        if waits:
            await waits
        elif isinstance(found, bp.ChildFailed):
            await asyncio.to_thread(ctx.sync.effect, "cancel", shop.log.append, "canceled")
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text="over")

    def in_a_pool(ask: Ask, ctx: bp.SyncContext) -> Reply:
        with ThreadPoolExecutor(1) as pool:
            [found] = pool.submit(ctx.fan_out, fan(0), failures="collect").result()
        with ThreadPoolExecutor(1) as pool:
            if isinstance(found, bp.ChildFailed):
                pool.submit(ctx.effect, "cancel", shop.log.append, "canceled").result()
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text="over")

    shop = Shop(in_a_pool if how == "in a pool" else parent)
    assert await shop.redriven(store_url) == ("attempts", "over")
    assert shop.log == ["canceled"]


@pytest.mark.parametrize("beside", ["fan-outs", "a step"])
async def test_one_that_ends_before_others_have_come_to_what_they_recorded(beside: str, store_url: str) -> None:
    """That was there before its children failed, or was called by tasks that did not know: it depends on nothing."""

    async def plan() -> int:
        await asyncio.sleep(0.1)
        return 1

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        async def first() -> str:
            await ctx.step("plan", plan)
            [found] = await ctx.fan_out(fan(0), failures="collect")
            if isinstance(found, bp.ChildFailed):
                raise RuntimeError("no luck")
            return str(found.text)

        async def other(number: int) -> str:
            if beside == "a step":
                await asyncio.sleep(0.05)
                return str(await ctx.step(f"look {number}", str, number))
            [found] = await ctx.fan_out(fan(number))
            return str(found.text)

        return Reply(text=" ".join(await asyncio.gather(first(), *map(other, range(1, 4)))))

    shop = Shop(parent, fails={0})
    assert await shop.redriven(store_url) == ("children", "0 1 2 3")


@pytest.mark.parametrize("how", ["itself", "in a task"])
async def test_a_step_of_a_task_that_was_told_counts(how: str, store_url: str) -> None:
    """The task that it begins for that knows of the loss, too: a redrive goes on from what that has recorded."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        async def branch() -> str:
            [found] = await ctx.fan_out(fan(0), failures="collect")
            noted = ctx.step("note", str, type(found).__name__)
            return await (noted if how == "itself" else asyncio.create_task(noted))

        text = await asyncio.create_task(branch())
        if shop.broken:
            raise RuntimeError("no luck")
        return Reply(text=text)

    shop = Shop(parent)
    assert await shop.redriven(store_url) == ("attempts", "ChildFailed")
    assert shop.log == []


@pytest.mark.parametrize("how", ["gather", "a group", "the function", "to_thread", "threads"])
async def test_what_it_did_then_in_new_tasks_counts(how: str, store_url: str) -> None:
    """It gave the money back by another child. The function knows what its tasks were told, and so may those that it
    begins then, and a pool's threads, which were there before."""

    def lost(found: Sequence[Any]) -> bool:
        return any(isinstance(each, bp.ChildFailed) for [each] in found)

    async def flow(ctx: bp.Context) -> None:
        async def call(number: int) -> list[Any]:
            return await ctx.fan_out(fan(number), failures="collect")

        if how == "the function":
            found = [*await asyncio.gather(call(0), call(1))]
        elif how == "a group":
            async with asyncio.TaskGroup() as group:
                begun = [group.create_task(ctx.fan_out(fan(number), failures="collect")) for number in range(2)]
            found = [each.result() for each in begun]
        else:
            found = [*await asyncio.gather(*(ctx.fan_out(fan(number), failures="collect") for number in range(2)))]
        if lost(found):
            if how == "the function":
                await ctx.fan_out(fan(2))
            elif how == "to_thread":
                await asyncio.to_thread(ctx.sync.fan_out, fan(2))
            else:
                await asyncio.gather(ctx.fan_out(fan(2)))
            raise RuntimeError("no luck")

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.01) for _ in range(4)))  # the pool's threads are there
        await flow(ctx)
        return Reply(text="over")

    def in_threads(ask: Ask, ctx: bp.SyncContext) -> Reply:
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(ctx.fan_out, fan(0), failures="collect").result()
        if lost([found]):
            with ThreadPoolExecutor(1) as pool:
                pool.submit(ctx.fan_out, fan(2)).result()
            raise RuntimeError("no luck")
        return Reply(text="over")

    shop = Shop(in_threads if how == "threads" else parent, fails={0})
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "attempts"
            shop.broken = False
            await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
    assert "charged 0" not in shop.log


async def test_what_was_recorded_before_it_was_made_again(store_url: str) -> None:
    """Depends on nothing either: which branch comes first is chance in each run."""
    run, late = 0, False

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        nonlocal run
        run += 1
        mailed, told = asyncio.Event(), asyncio.Event()

        async def first() -> Any:
            if run == 2:
                await mailed.wait()
            [found] = await ctx.fan_out(fan(0), failures="collect")
            told.set()
            return found

        async def other() -> None:
            if late or run == 1:
                await told.wait()
            await ctx.effect("mail", shop.log.append, "mailed")
            mailed.set()

        found, _ = await asyncio.gather(first(), other())
        if isinstance(found, bp.ChildFailed):
            raise RuntimeError("no luck")
        return Reply(text=found.text)

    shop = Shop(parent)
    async with serving(shop.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for still_broken in (True, False):
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "children"
            late, shop.broken = True, still_broken
            await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0"
    assert shop.log == ["mailed", "charged 0"]


@pytest.mark.parametrize("loses", ["the function", "its task"])
async def test_a_function_that_is_one_of_the_branches(loses: str, store_url: str) -> None:
    """What its task recorded was there before the function's fan-out was made, or the other way round."""

    looked = asyncio.Event()

    async def plan() -> None:
        if loses == "the function":
            await looked.wait()

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        async def other() -> list[Any]:
            if loses == "the function":
                found = [await ctx.step("look", str)]
                looked.set()
                return found
            await ctx.step("plan", plan)
            return await ctx.fan_out(fan(0), failures="collect")

        task = asyncio.create_task(other())
        try:
            if loses == "the function":
                await ctx.step("plan", plan)
            found = await ctx.fan_out(fan(0 if loses == "the function" else 1), failures="collect")
            if loses == "its task":
                found += await task
            if any(isinstance(each, bp.ChildFailed) for each in found):
                raise RuntimeError("no luck")
            return Reply(text="over")
        finally:
            task.cancel()

    assert await Shop(parent, fails={0}).redriven(store_url) == ("children", "over")
