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


@pytest.mark.parametrize("before", [False, True])
async def test_a_result_that_a_person_gave_is_one_calls(before: bool) -> None:
    """It counts whatever the arguments are, because the payload may have been edited with it: the second refund was
    taken for done, too."""
    refunds: list[int] = []

    def refund(amount: int) -> int:
        refunds.append(amount)
        raise ConnectionError

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if before:
            await ctx.step("look", len, ask.text)
        return Reply(text=f"{[await ctx.effect('refund', refund, amount) for amount in (5, 5, 6)]}")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="its outcome is unknown"):
            await job.result(timeout=DEADLINE)
        await coordinator.redrive(job.id, changes={"effect:refund": 5})
        with pytest.raises(bp.JobFailed, match=r"effect 'refund' of .* was already called in this run"):
            await job.result(timeout=DEADLINE)
    assert refunds == [5]


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
    assert f"{how} '{'shout:1' if how == 'step' else 'shout'}' of job" in error
    assert "was already called in this run, with other arguments: " in error
    assert {"step": "give each call its own key", "effect": "the key, and each call needs its own"}[how] in error
    assert "replayed" not in error
