"""However a job ends: an effect that may have happened is not passed over, unless the code was told, and decided."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.commands import Record
from batonpass.workers.session import LeaseSession

from .serving import Ask, Reply, only, reached, serving

Ends = Callable[[Ask, bp.Context], Awaitable[Reply | bp.Handoff[Any]]]
Acts = Callable[[bp.Context], Awaitable[object]]
FAST = bp.Retry(attempts=2, first=0.001)
UNHEARD: list[asyncio.Task[None]] = []


async def lost() -> None:
    raise ConnectionError("the reply was lost")


async def refused() -> None:
    raise bp.NotDone("no route")


async def slow() -> None:
    await asyncio.wait_for(asyncio.sleep(60), 0.05)


async def rejects(ask: Ask, ctx: bp.Context) -> Reply:
    ctx.reject("the order was withdrawn")


async def returns(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text="withdrawn")


async def hands_off(ask: Ask, ctx: bp.Context) -> bp.Handoff[Any]:
    return ctx.hand_off("b", Ask())


def app_of(fn: Ends) -> bp.App:
    """An agent whose second attempt, and those after a redrive, end without coming to the effect."""
    app, runs = bp.App("doubt"), list[int]()

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"b": Ask}, retries=FAST)
    async def agent(ask: Ask, ctx: bp.Context) -> Reply | bp.Handoff[Any]:
        runs.append(ctx.attempt)
        if len(runs) == 1:
            await ctx.effect("pay", lost)
        return await fn(ask, ctx)

    @app.agent("b", accepts=Ask, returns=Reply)
    async def other(ask: Ask) -> Reply:
        return Reply(text="withdrawn")

    return app


@pytest.mark.parametrize("how", [{"not_done": ["pay"]}, {"changes": {"effect:pay": 7}}])
@pytest.mark.parametrize(
    ("fn", "state"),
    [(rejects, bp.JobState.REJECTED), (returns, bp.JobState.COMPLETED), (hands_off, bp.JobState.COMPLETED)],
)
async def test_a_later_attempt_does_not_come_to_it(
    store_url: str, fn: Ends, state: bp.JobState, how: dict[str, Any]
) -> None:
    """The payment was made, perhaps, and the job ended as if it had not begun. Once it is settled, it may."""
    async with serving(app_of(fn), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED, state)
        assert (info.reason, info.agent) == ("ambiguous", "a")
        assert f"effect 'pay' started, and its outcome is unknown: look for '{job.id}.0.pay'" in str(info.error)
        assert ("the order was withdrawn" in str(info.error)) == (fn is rejects)
        await coordinator.redrive(job.id, **how)
        await reached(job, state)


async def group(ctx: bp.Context) -> None:
    async def check() -> None:
        await asyncio.sleep(0.05)
        ctx.reject("not allowed")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ctx.effect("pay", asyncio.sleep, 60))
        tasks.create_task(check())


async def fails_beside_it(ctx: bp.Context) -> None:
    async def check() -> None:
        await asyncio.sleep(0.05)
        raise ValueError("not in stock")

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.effect("pay", asyncio.sleep, 60))
            tasks.create_task(check())
    except* ValueError:
        pass


async def leaves_it_running(ctx: bp.Context) -> None:
    task = asyncio.create_task(ctx.effect("pay", asyncio.sleep, 60))
    await asyncio.wait([task], timeout=0.05)


async def catches_another(ctx: bp.Context) -> None:
    for key in ("pay", "mail"):
        try:
            if ctx.attempt == 1 or key == "mail":
                await ctx.effect(key, lost)
        except Exception:
            if key == "pay":
                raise


async def fails_in_a_group_around_it(ctx: bp.Context) -> None:
    async def check() -> None:
        await asyncio.sleep(0.05)
        raise ValueError("not in stock")

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(check())
            await ctx.effect("pay", asyncio.sleep, 60)
    except* ValueError:
        pass


async def hears_of_another(ctx: bp.Context) -> None:
    async def check() -> None:
        raise ValueError("not in stock")

    paying = asyncio.ensure_future(ctx.effect("pay", lost))
    with contextlib.suppress(ValueError):
        await asyncio.gather(check(), paying)
    await asyncio.wait([paying])


async def hears_of_another_beside_its_cause(ctx: bp.Context) -> None:
    async def check() -> None:
        raise ValueError("not in stock")

    async def pay() -> None:
        try:
            await catches_what_is_lost()
        except ConnectionError as error:
            raise LookupError("not paid") from error

    async def catches_what_is_lost() -> None:
        await ctx.effect("pay", lost)

    paying = asyncio.ensure_future(pay())
    with contextlib.suppress(ValueError):
        await asyncio.gather(check(), paying)
    await asyncio.wait([paying])


async def passes_on_what_a_task_heard(ctx: bp.Context) -> None:
    """To nobody: the task that waited for it failed with it."""

    async def pay() -> None:
        await asyncio.create_task(ctx.effect("pay", lost))

    await asyncio.gather(pay(), asyncio.wait_for(ctx.effect("mail", lost), 30), return_exceptions=True)


async def hears_of_nothing(ctx: bp.Context) -> None:
    task = asyncio.create_task(ctx.effect("pay", lost))
    UNHEARD.append(task)  # or asyncio tells of its error when it is freed, and that fails the test
    await asyncio.wait([task])


async def limits(ctx: bp.Context) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None) as limit:

            async def pay() -> None:
                limit.reschedule(0)  # at once, now that it has begun
                await asyncio.sleep(60)

            await ctx.effect("pay", pay)


async def is_told_of_the_first_try(ctx: bp.Context) -> None:
    with contextlib.suppress(bp.NotDone):
        await ctx.effect("pay", refused)
    await limits(ctx)


@pytest.mark.parametrize(
    "acts",
    [
        group,
        fails_beside_it,
        fails_in_a_group_around_it,
        leaves_it_running,
        catches_another,
        hears_of_another,
        hears_of_another_beside_its_cause,
        passes_on_what_a_task_heard,
        hears_of_nothing,
        limits,
        is_told_of_the_first_try,
    ],
)
async def test_what_the_code_was_not_told_is_in_doubt(store_url: str, acts: Acts) -> None:
    """What is cut off by a task beside it, still runs, or was begun by an attempt before."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await acts(ctx)
        return Reply(text="done")

    async with serving(only(agent, retries=FAST), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED, bp.JobState.COMPLETED, bp.JobState.REJECTED)
        assert (info.reason, "'pay'" in str(info.error)) == ("ambiguous", True)


async def catches(ctx: bp.Context) -> None:
    try:
        await ctx.effect("pay", lost)
    except Exception:
        return


async def catches_in_a_task(ctx: bp.Context) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(catches(ctx))


async def limits_the_call(ctx: bp.Context) -> None:
    with contextlib.suppress(Exception):
        await ctx.effect("pay", slow)


async def may_repeat(ctx: bp.Context) -> None:
    if ctx.attempt == 1:
        await ctx.effect("pay", lost, unsure="repeat")


@pytest.mark.parametrize(("fn", "state"), [(rejects, bp.JobState.REJECTED), (returns, bp.JobState.COMPLETED)])
@pytest.mark.parametrize("acts", [catches, catches_in_a_task, limits_the_call, may_repeat])
async def test_code_that_was_told_may_go_on(store_url: str, acts: Acts, fn: Ends, state: bp.JobState) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply | bp.Handoff[Any]:
        await acts(ctx)
        return await fn(ask, ctx)

    async with serving(only(agent, retries=FAST), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await reached(job, bp.JobState.FAILED, state)).state == state


async def waits_for_a_task(ask: Ask, ctx: bp.Context) -> Reply:
    with contextlib.suppress(ConnectionError):
        await asyncio.create_task(ctx.effect("pay", lost))
    return Reply(text="done")


async def waits_for_a_while(ask: Ask, ctx: bp.Context) -> Reply:
    async def pays() -> None:
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(ctx.effect("pay", lost), 30)

    await pays()
    return Reply(text="done")


async def hears_of_the_first(ask: Ask, ctx: bp.Context) -> Reply:
    with contextlib.suppress(ConnectionError):
        await asyncio.gather(asyncio.sleep(0), ctx.effect("pay", lost))
    return Reply(text="done")


@pytest.mark.parametrize("agent", [waits_for_a_task, waits_for_a_while, hears_of_the_first])
async def test_and_so_may_a_function_that_waited_for_the_call(store_url: str, agent: Ends) -> None:
    async with serving(only(agent, retries=FAST), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "done"


async def test_a_dead_letter_for_another_reason_names_it(store_url: str) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await catches(ctx)
        raise bp.Unanswered("nobody has answered")

    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
        assert info.reason == "unanswered"
        assert str(info.error).startswith("nobody has answered; effect 'pay' started, and its outcome is unknown")
        assert str(info.error).count("'pay' started") == 1


async def test_one_that_is_being_recorded_as_the_attempt_ends_does_not_begin(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job ended without a word of it, since its record had not come back yet, and then it was paid."""
    recorded, paid, paying = asyncio.Event(), list[int](), list["asyncio.Future[None]"]()
    write = LeaseSession.awrite

    async def slowly(session: LeaseSession, command: Any) -> Any:
        answer = await write(session, command)
        recorded.set()
        while isinstance(command, Record) and not session._left:
            await asyncio.sleep(0.001)
        return answer

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        paying.append(asyncio.ensure_future(ctx.effect("pay", paid.append, 7)))
        await recorded.wait()
        return Reply(text="not in stock")

    monkeypatch.setattr(LeaseSession, "awrite", slowly)
    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "not in stock"
        with pytest.raises(bp.Fenced):
            await asyncio.wait_for(paying[0], 30)
    assert paid == []


async def test_nor_in_a_thread(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded, paid, paying = threading.Event(), list[int](), list["Future[None]"]()
    write = LeaseSession.write

    def slowly(session: LeaseSession, command: Any) -> Any:
        answer = write(session, command)
        recorded.set()
        while isinstance(command, Record) and not session._left:
            time.sleep(0.001)
        return answer

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        paying.append(pool.submit(ctx.effect, "pay", paid.append, 7))
        recorded.wait(30)
        return Reply(text="not in stock")

    monkeypatch.setattr(LeaseSession, "write", slowly)
    with ThreadPoolExecutor() as pool:
        async with serving(only(agent), store_url) as coordinator:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            assert (await job.result(timeout=30)).text == "not in stock"
            with pytest.raises(bp.Fenced):
                await asyncio.to_thread(paying[0].result, 30)
    assert paid == []
