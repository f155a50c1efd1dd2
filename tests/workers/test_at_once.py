"""Questions and fan-outs in tasks of an agent, and several at once: they take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import DEADLINE, Ask, Reply, kinds, serving


async def beside_a_step(ask: Ask, ctx: bp.Context) -> Reply:
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(ctx.ask("first"))
        tasks.create_task(ctx.step("count", len, ask.text))
    return Reply(text=answer.result())


async def in_a_task_group(ask: Ask, ctx: bp.Context) -> Reply:
    async with asyncio.TaskGroup() as tasks:
        answers = [tasks.create_task(ctx.ask(each)) for each in ("first", "second")]
    return Reply(text=" ".join(each.result() for each in answers))


async def in_nested_groups(ask: Ask, ctx: bp.Context) -> Reply:
    said: dict[str, str] = {}

    async def one(question: str) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note, question)

    async def note(question: str) -> None:
        said[question] = await ctx.ask(question)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one, "first")
        tasks.start_soon(one, "second")
    return Reply(text=f"{said['first']} {said['second']}")


async def gathered(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text=" ".join(await asyncio.gather(ctx.ask("first"), ctx.ask("second"))))


async def taken_for_results(ask: Ask, ctx: bp.Context) -> Reply:
    found = await asyncio.gather(ctx.ask("first"), ctx.ask("second"), return_exceptions=True)
    return Reply(text=" ".join(map(str, found)))


def in_threads(ask: Ask, ctx: bp.SyncContext) -> Reply:
    with ThreadPoolExecutor(2) as pool:
        return Reply(text=" ".join(pool.map(ctx.ask, ("first", "second"))))


async def fans_out(ask: Ask, ctx: bp.Context) -> Reply:
    handoffs = [[bp.Handoff("echo", Ask(text=each))] for each in ("first", "second")]
    found = await asyncio.gather(*map(ctx.fan_out, handoffs))
    return Reply(text=" ".join(reply.text for [reply] in found))


async def fans_out_in_a_group(ask: Ask, ctx: bp.Context) -> Reply:
    async with asyncio.TaskGroup() as tasks:
        found = [tasks.create_task(ctx.fan_out([bp.Handoff("echo", Ask(text=each))])) for each in ("first", "second")]
    return Reply(text=" ".join(reply.text for each in found for reply in each.result()))


async def asks_and_fans_out(ask: Ask, ctx: bp.Context) -> Reply:
    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(ctx.ask("first"))
        found = tasks.create_task(ctx.fan_out([bp.Handoff("echo", Ask(text="second"))]))
    return Reply(text=" ".join([answer.result(), *(reply.text for reply in found.result())]))


@pytest.mark.parametrize(
    ("agent", "happened"),
    [
        (beside_a_step, ["job.suspended"]),
        *((agent, ["job.suspended"] * 2) for agent in (in_a_task_group, in_nested_groups, gathered, in_threads)),
        (taken_for_results, ["job.suspended"] * 2),
        *((agent, ["job.fanned_out"] * 2) for agent in (fans_out, fans_out_in_a_group)),
        (asks_and_fans_out, ["job.suspended", "job.fanned_out"]),
    ],
)
async def test_each_is_answered_once(agent: Callable[..., Any], happened: list[str], store_url: str) -> None:
    app = bp.App("at once")
    app.agent("echo", accepts=Ask, returns=Reply)(lambda ask: Reply(text=ask.text))
    decorator: Any = app.agent("a", accepts=Ask, returns=Reply, hands_to={"echo": Ask}, retries=1)
    decorator(agent)
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with anyio.fail_after(DEADLINE):
            while not (await job.info()).state.ended:
                for item in await coordinator.inbox():
                    await coordinator.answer(item.id, item.question)
                await anyio.sleep(0.005)
        assert (await job.result()).text in ("first", "first second")
        paused = [kind for kind in await kinds(coordinator, job) if kind in ("job.suspended", "job.fanned_out")]
        assert paused == happened


async def test_a_failure_beside_a_question_is_one(store_url: str) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ctx.ask, "ready?")
            tasks.start_soon(fails)
        return Reply(text="")

    async def fails() -> None:
        raise ValueError("no")

    app = bp.App("at once")
    decorator: Any = app.agent("a", accepts=Ask, returns=Reply, retries=1)
    decorator(agent)
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"ValueError: no|unhandled errors in a TaskGroup"):
            await job.result(timeout=DEADLINE)
        assert await coordinator.inbox() == []
