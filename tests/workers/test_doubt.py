"""An effect that may have happened: no fallback does it again, no matter which attempt began it, and a repetition is
with the same arguments."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import batonpass as bp

from .serving import Ask, Reply, reached, serving

Pay = Callable[[], Awaitable[int]]


class NoPayment(Exception):
    pass


async def wraps(ctx: bp.Context, pay: Pay) -> None:
    """Its own error hides the effect's, and what the next attempt is told."""
    try:
        await ctx.effect("pay", pay)
    except Exception as error:
        raise NoPayment("it did not work") from error


async def groups(ctx: bp.Context, pay: Pay) -> None:
    async with asyncio.TaskGroup() as group:
        for key in ("pay", "pay more"):
            group.create_task(ctx.effect(key, pay))


async def comes_not_so_far(ctx: bp.Context, pay: Pay) -> None:
    if ctx.attempt > 1:
        raise NoPayment("the model is down")
    await ctx.effect("pay", pay)


async def may_repeat(ctx: bp.Context, pay: Pay) -> None:
    if ctx.attempt > 1:
        raise NoPayment("the model is down")
    await ctx.effect("pay", pay, unsure="repeat")


def with_fallback(begins: Callable[[bp.Context, Pay], Awaitable[None]], paid: list[str], attempts: int) -> bp.App:
    app = bp.App("doubt")
    policy = bp.Retry(attempts=attempts, first=0.001)

    async def pay() -> int:
        paid.append("a")
        raise ConnectionError("the reply was lost")

    @app.agent("a", accepts=Ask, returns=Reply, retries=policy, fallback="b")
    async def first(ask: Ask, ctx: bp.Context) -> Reply:
        await begins(ctx, pay)
        return Reply(text="a")

    @app.agent("b", accepts=Ask, returns=Reply)
    async def fallback(ask: Ask) -> Reply:
        return Reply(text="b")

    return app


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("begins", [wraps, groups, comes_not_so_far])
async def test_no_fallback(begins: Callable[[bp.Context, Pay], Awaitable[None]], attempts: int) -> None:
    paid: list[str] = []
    async with serving(with_fallback(begins, paid, attempts)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, info.agent, len(paid)) == ("ambiguous", "a", 2 if begins is groups else 1)
        assert re.search(
            r"effect 'pay' started, and its outcome is unknown( \(.*\))?: look for '.*\.pay' in", str(info.error)
        )


async def test_a_fallback_goes_on_from_what_may_be_repeated(store_url: str) -> None:
    paid: list[str] = []
    async with serving(with_fallback(may_repeat, paid, 2), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=60)).text == "b"
        assert len(paid) == 1


@pytest.mark.parametrize("unsure", ["stop", "ask", "repeat"])
async def test_other_arguments(unsure: Any, store_url: str) -> None:
    """Nothing is paid, asked or recorded for them. The first ones again, or the result, let the job go on."""
    paid: list[str] = []

    async def pay(amount: str) -> int:
        paid.append(amount)
        if len(paid) == 1:
            raise ConnectionError("the reply was lost")
        return len(paid)

    app = bp.App("doubt")

    @app.agent("a", accepts=Ask, returns=Reply, retries=1)
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=str(await ctx.effect("pay", pay, ask.text, unsure=unsure)))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(text="10"), returns=Reply)
        await reached(job, bp.JobState.FAILED)
        await coordinator.redrive(job.id, payload=Ask(text="99"))
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, paid) == ("ambiguous", ["10"])
        assert ("started with other arguments" in str(info.error)) == (unsure != "stop")
        if unsure == "repeat":
            await coordinator.redrive(job.id, payload=Ask(text="10"))
        else:
            await coordinator.redrive(job.id, changes={"effect:pay": 2})
        assert (await job.result(timeout=60)).text == "2"
        assert paid == (["10", "10"] if unsure == "repeat" else ["10"])


@pytest.mark.parametrize("unsure", ["stop", "repeat"])
async def test_an_effect_that_an_older_release_began(unsure: Any) -> None:
    """Its record is only the key, which may be another one than this release would make."""
    app, paid = bp.App("doubt"), list[str]()

    @app.agent("a", accepts=Ask, returns=Reply, retries=bp.Retry(attempts=2, first=0.001))
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            await ctx._session.arecord({"effect/pay": "older.pay"})
            raise ConnectionError("the reply was lost")
        await ctx.effect("pay", paid.append, ctx.effect_key("pay"), unsure=unsure)
        return Reply(text="a")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        if unsure == "repeat":
            assert (await job.result(timeout=60)).text == "a"
        else:
            assert (await reached(job, bp.JobState.FAILED)).reason == "ambiguous"
    assert paid == ["older.pay"] * (unsure == "repeat")


async def test_one_that_was_not_done_at_the_second_try_may_have_been_at_the_first() -> None:
    """So it can't be repeated with other arguments."""
    app, paid = bp.App("doubt"), list[str]()

    def pay(amount: str) -> None:
        paid.append(amount)
        if len(paid) == 1:
            raise ConnectionError("the reply was lost")
        if len(paid) == 2:
            raise bp.NotDone("nobody took it")

    @app.agent("a", accepts=Ask, returns=Reply, retries=bp.Retry(attempts=3, first=0.001))
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", pay, "10" if ctx.attempt < 3 else "99", unsure="repeat")
        return Reply(text="a")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.FAILED)
    assert (info.reason, paid) == ("ambiguous", ["10", "10"])
    assert "started with other arguments" in str(info.error)


async def test_a_result_that_breaks_the_contract_hides_no_doubt() -> None:
    app = bp.App("doubt")

    def pay() -> None:
        raise ConnectionError("the reply was lost")

    @app.agent("a", accepts=Ask, returns=Reply)
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        with contextlib.suppress(ConnectionError):
            await ctx.effect("pay", pay)
        return None  # type: ignore[return-value]

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await reached(job, bp.JobState.FAILED)).reason == "ambiguous"


async def test_a_result_that_a_redrive_told_leaves_no_doubt(store_url: str) -> None:
    app = bp.App("doubt")

    @app.agent("a", accepts=Ask, returns=Reply, retries=1)
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.effect("pay", fails)
        raise ValueError("after it")

    def fails() -> None:
        raise ConnectionError("the reply was lost")

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await reached(job, bp.JobState.FAILED)).reason == "ambiguous"
        await coordinator.redrive(job.id, changes={"effect:pay": 2})
        assert (await reached(job, bp.JobState.FAILED)).reason == "attempts"
