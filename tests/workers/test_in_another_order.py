"""Tasks of an agent that ask, or fan out, in another order than in the run before: each gets what it asked for."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers.journal import named as journal_named

from .serving import DEADLINE, Ask, Reply, kinds, reached, serving

# How long a task takes until its call, in the agent's first run and later. The second task is the first to call.
SLOW, SOON = 0.3, 0.02


def app_of(agent: Callable[..., Any], **options: Any) -> bp.App:
    app = bp.App("order")
    app.agent("echo", accepts=Ask, returns=Reply)(lambda ask: Reply(text=ask.text))
    declare: Any = app.agent
    declare("a", accepts=Ask, returns=Reply, hands_to={"echo": Ask}, **{"retries": 1, **options})(agent)
    return app


async def answered(coordinator: bp.Coordinator, job: bp.Job[Any]) -> list[str]:
    """Answer each of the job's questions with itself until it ends; the questions."""
    asked: list[str] = []
    with anyio.fail_after(DEADLINE):
        while not (await job.info()).state.ended:
            for item in await coordinator.inbox():
                await coordinator.answer(item.id, item.question)
                asked.append(item.question)
            await anyio.sleep(0.005)
    return asked


async def takes(seconds: float) -> float:
    await anyio.sleep(seconds)
    return seconds


def takes_long(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


async def asks(ctx: bp.Context, what: str) -> str:
    return str(await ctx.ask(what))


async def fans_out(ctx: bp.Context, what: str) -> str:
    [reply] = await ctx.fan_out([bp.Handoff("echo", Ask(text=what))])
    return str(reply.text)


def after_steps(call: Callable[[bp.Context, str], Awaitable[str]]) -> Callable[..., Any]:
    """Two tasks. What they do before the call is recorded, so it takes no time in the next run."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async def task(what: str, seconds: float) -> str:
            await ctx.step(f"before {what}", takes, seconds)
            return await call(ctx, what)

        return Reply(text=" ".join(await asyncio.gather(task("first", SLOW), task("second", SOON))))

    return agent


def after_steps_in_threads(ask: Ask, ctx: bp.SyncContext) -> Reply:
    def task(what: str, seconds: float) -> str:
        ctx.step(f"before {what}", takes_long, seconds)
        return str(ctx.ask(what))

    with ThreadPoolExecutor(2) as pool:
        return Reply(text=" ".join(pool.map(task, ("first", "second"), (SLOW, SOON))))


@pytest.mark.parametrize(
    ("agent", "paused"),
    [
        (after_steps(asks), "job.suspended"),
        (after_steps_in_threads, "job.suspended"),
        (after_steps(fans_out), "job.fanned_out"),
    ],
)
async def test_each_task_gets_its_own(agent: Callable[..., Any], paused: str, store_url: str) -> None:
    async with serving(app_of(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        asked = await answered(coordinator, job)
        assert (await job.result()).text == "first second"
        assert sorted(asked) == (["first", "second"] if paused == "job.suspended" else [])
        assert (await kinds(coordinator, job)).count(paused) == 2


@pytest.mark.parametrize("call", [asks, fans_out])
async def test_a_new_call_lets_those_go_ahead_that_were_made_before(
    call: Callable[[bp.Context, str], Awaitable[str]], store_url: str
) -> None:
    """What takes the time is not recorded: the first task is slow in the first run, the second one later."""
    runs: list[int] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append(1)
        slow_one = "first" if len(runs) == 1 else "second"

        async def task(what: str) -> str:
            await anyio.sleep(SLOW if what == slow_one else 0)
            return await call(ctx, what)

        return Reply(text=" ".join(await asyncio.gather(task("first"), task("second"))))

    async with serving(app_of(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        asked = await answered(coordinator, job)
        assert (await job.result()).text == "first second"
        assert asked == (["second", "first"] if call is asks else [])


@pytest.mark.parametrize("call", [asks, fans_out])
async def test_the_function_itself_lets_its_tasks_go_ahead(
    call: Callable[[bp.Context, str], Awaitable[str]], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for its own calls not as long as for those of others."""
    monkeypatch.setattr("batonpass.workers.context.counted.OWN_PATIENCE", SOON)
    runs: list[int] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append(1)

        async def task() -> str:
            await anyio.sleep(0 if len(runs) == 1 else SLOW)
            return await call(ctx, "first")

        async with asyncio.TaskGroup() as others:
            first = others.create_task(task())
            await anyio.sleep(SLOW if len(runs) == 1 else 0)
            second = await call(ctx, "second")
        return Reply(text=f"{second} {first.result()}")

    async with serving(app_of(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await answered(coordinator, job)
        assert (await job.result()).text == "second first"


async def test_threads_let_others_go_ahead() -> None:
    """The same in a plain `def`."""
    runs: list[int] = []

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        runs.append(1)
        slow_one = "first" if len(runs) == 1 else "second"

        def task(what: str) -> str:
            time.sleep(SLOW if what == slow_one else 0)
            return str(ctx.ask(what))

        with ThreadPoolExecutor(2) as pool:
            done = [task.result() for task in as_completed([pool.submit(task, what) for what in ("first", "second")])]
        return Reply(text=" ".join(sorted(done)))

    async with serving(app_of(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert await answered(coordinator, job) == ["second", "first"]
        assert (await job.result()).text == "first second"


async def test_the_same_question_twice_is_asked_twice() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=" ".join([*await asyncio.gather(asks(ctx, "sure?"), asks(ctx, "sure?")), await ctx.ask("?")]))

    async with serving(app_of(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert await answered(coordinator, job) == ["sure?", "sure?", "?"]
        assert (await job.result()).text == "sure? sure? ?"


async def test_the_same_question_again_and_again_keeps_its_answers_in_order(store_url: str) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=" ".join([str(await ctx.ask("and then?")) for _ in range(4)]))

    async with serving(app_of(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for answer in "abcd":
            await reached(job, bp.JobState.INPUT_REQUIRED)
            await job.answer(answer)
        assert (await job.result()).text == "a b c d"


@pytest.mark.parametrize("call", [asks, fans_out])
async def test_a_call_that_is_not_made_again_is_a_mismatch(
    call: Callable[[bp.Context, str], Awaitable[str]],
) -> None:
    """No answer goes to another question, and nobody is asked again and again. The agent's timeout does not come
    before it: it would be retried, and lead to a fallback."""
    runs: list[int] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append(1)
        return Reply(text=await call(ctx, f"in run {len(runs)}"))

    async with serving(app_of(agent, timeout=2.0)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert len(await answered(coordinator, job)) == (call is asks)
        with pytest.raises(bp.JobFailed, match=r"has asked something else|has made other children"):
            await job.result()
        assert len(runs) == 2


async def beside_a_step(ctx: bp.Context, run: int) -> None:
    if run > 1:
        await ctx.step("more", takes, 0)
    if run == 2:
        raise bp.NotDone("after something was recorded, and before the question was asked again")


async def beside_an_effect(ctx: bp.Context, run: int) -> None:
    async def fails() -> None:
        raise ValueError

    if run > 1:
        await ctx.effect("pay", fails, unsure="ask")


async def beside_children(ctx: bp.Context, run: int) -> None:
    if run > 1:
        await fans_out(ctx, "child")


@pytest.mark.parametrize("beside", [beside_a_step, beside_an_effect, beside_children])
async def test_an_answer_is_kept_until_its_question_is_asked_again(
    beside: Callable[[bp.Context, int], Awaitable[None]], store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the job stops meanwhile because of something else. Nobody is asked twice."""
    monkeypatch.setattr("batonpass.contracts.retry.Retry.pause", lambda *_: 0.01)
    runs, asked = Counter[str](), Counter[str]()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        runs["all"] += 1
        await beside(ctx, runs["all"])
        return Reply(text=str(await ctx.ask("sure?")))

    async with serving(app_of(agent, retries=5), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with anyio.fail_after(DEADLINE):
            while not (await job.info()).state.ended:
                for item in await coordinator.inbox():
                    about_effect = isinstance(item.question, dict)
                    asked["effect" if about_effect else item.question] += 1
                    await coordinator.answer(item.id, {"done": True, "result": None} if about_effect else "yes")
                await anyio.sleep(0.005)
        assert (await job.result()).text == "yes"
        assert asked["sure?"] == 1


async def test_a_question_that_was_once_not_answered_takes_no_other_questions_place(store_url: str) -> None:
    """It is asked again after a redrive. In the run after that, the other task is the first to ask."""
    runs: list[int] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append(1)
        slow_one = "second" if len(runs) < 4 else "first"

        async def task(what: str) -> str:
            await anyio.sleep(SLOW if what == slow_one else 0)
            return str(await ctx.ask(what, timeout=0.3 if len(runs) == 1 else 60))

        return Reply(text=" ".join(await asyncio.gather(task("first"), task("second"))))

    async with serving(app_of(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await reached(job, bp.JobState.FAILED)).reason == "unanswered"
        await coordinator.redrive(job.id)
        assert await answered(coordinator, job) == ["first", "second"]
        assert (await job.result()).text == "first second"


async def test_a_replay_costs_no_more_for_each_question_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are compared with what older releases recorded only if they fit nothing."""
    compared: list[object] = []
    monkeypatch.setattr("batonpass.workers.context.counted.older_digests", compared.append)

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=" ".join([str(await ctx.ask(f"q{number}")) for number in range(6)]))

    async with serving(app_of(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert await answered(coordinator, job) == [f"q{number}" for number in range(6)]
        assert compared == []


@pytest.mark.parametrize("call", [asks, fans_out])
async def test_a_replay_looks_at_the_journal_once(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each question or fan-out again: a job of 400 took a minute of processor time for that."""
    looked: list[int] = []

    def named(journal: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        looked[-1] += 1
        return journal_named(journal, prefix)

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        looked.append(0)
        return Reply(text=" ".join([str(await call(ctx, f"q{number}")) for number in range(6)]))

    for module in ("asking", "fan_out"):
        monkeypatch.setattr(f"batonpass.workers.context.{module}.named", named)
    async with serving(app_of(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        if call is asks:
            await answered(coordinator, job)
        assert (await job.result()).text == " ".join(f"q{number}" for number in range(6))
    assert len(looked) == 7
    assert max(looked) <= 2
