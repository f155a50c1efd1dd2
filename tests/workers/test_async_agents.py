"""What counts as an async agent: whatever gives a coroutine when it is called, if that can be seen beforehand."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import batonpass as bp

from .serving import DEADLINE, Ask, Reply, only, serving


class Called:
    async def __call__(self, ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.step("say", str.upper, ask.text))


class Holder:
    @staticmethod
    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.step("say", str.upper, ask.text))

    as_written = run


def wrapped(fn: Callable[..., Awaitable[Reply]]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def plain(*args: Any) -> Any:
        return fn(*args)

    return plain


@pytest.mark.parametrize("agent", [Called(), Holder.run, vars(Holder)["as_written"], functools.partial(Called())])
async def test_it_is_awaited(agent: Any) -> None:
    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(text="tea"), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "TEA"


async def test_a_plain_wrapper_around_an_async_def_is_told_of() -> None:
    """Whether it runs that by itself can't be seen."""
    async with serving(only(wrapped(Holder.run))) as coordinator:
        job = await coordinator.submit("a", Ask(text="tea"), returns=Reply)
        with pytest.raises(bp.JobFailed, match="make the decorator's function async, and await there"):
            await job.result(timeout=DEADLINE)
