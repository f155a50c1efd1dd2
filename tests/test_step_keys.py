"""Keys of steps and effects: two calls of one run that share one are told so, and are not taken for a replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp

from .workers.serving import DEADLINE, Ask, Reply, only, serving


async def refusal(agent: Callable[..., Any]) -> str:
    """The error with which the agent's job is refused."""
    async with serving(only(agent, retries=2)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed) as failed:
            await job.result(timeout=DEADLINE)
    assert failed.value.reason == "refused"
    return failed.value.error


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("how", ["step", "effect"])
async def test_two_calls_with_one_key(how: str, attempt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was replayed, so advice about replayed code would mislead."""
    monkeypatch.setattr("batonpass.contracts.retry.Retry.pause", lambda *_: 0.01)

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        assert [await shout(ctx, word) for word in ("a", "a")] == ["A", "A"]
        if ctx.attempt < attempt:
            raise ValueError
        raise AssertionError(await shout(ctx, "b"))

    async def shout(ctx: bp.Context, word: str) -> str:
        if how == "effect":
            return await ctx.effect("shout", str.upper, word)
        return await ctx.step("shout", str.upper, word, key="1")

    error = await refusal(agent)
    assert f"step '{'shout:1' if how == 'step' else 'effect:shout'}' of job" in error
    assert "was already called in this run, with other arguments: give each call its own key" in error
    assert "replayed" not in error
