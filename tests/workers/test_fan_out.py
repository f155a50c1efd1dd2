"""ctx.fan_out: jobs of other agents, their results in order, and the agent that goes on once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

import batonpass as bp
from tests.workers.serving import Ask, Reply, kinds, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


def family(parent: Any, **options: Any) -> bp.App:
    """An app whose agent `a` fans out to `double`, which fails on 13, hangs on 7 and doubles everything else."""
    app = bp.App("family")

    @app.agent("double", accepts=Ask, returns=Reply, hands_to={"last": Ask}, retries=1)
    async def double(ask: Ask, ctx: bp.Context) -> Reply | bp.Handoff:
        if ask.number == 13:
            raise ValueError("unlucky")
        if ask.number == 14:
            ctx.reject("not me")
        if ask.number == 7:
            await anyio.sleep_forever()
        return ctx.hand_off("last", Ask(number=ask.number * 2)) if ask.number % 2 else Reply(text=str(ask.number * 2))

    @app.agent("last", accepts=Ask, returns=Reply)
    def last(ask: Ask) -> Reply:
        return Reply(text=str(ask.number))

    decorator: Any = app.agent("a", accepts=Ask, returns=Reply, hands_to={"double": Ask, "a": Ask}, **options)
    decorator(parent)
    return app


def to_double(*numbers: int) -> list[bp.Handoff[Ask]]:
    return [bp.Handoff("double", Ask(number=number)) for number in numbers]


def told(results: Sequence[Any]) -> str:
    return " ".join("-" if each is None else each.text if isinstance(each, Reply) else each.reason for each in results)


async def said(app: bp.App, **options: Any) -> str:
    async with serving(app, **options) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        return (await job.result(timeout=LONG)).text


async def test_results_in_order_and_steps_once() -> None:
    runs: list[str] = []

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append("run")
        await ctx.step("first", runs.append, "step")
        results = await ctx.fan_out(to_double(3, 4, 5))
        more = await ctx.fan_out(to_double(int(results[0].text)))
        return Reply(text=told([*results, *more]))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=LONG)).text == "6 8 10 12"
        children = [info for info in await coordinator.jobs() if info.parent == job.id]
        assert {info.path for info in children} == {("a", "double", "last"), ("a", "double")}
        assert (await job.info()).children == bp.Children(1, 1, 0)
        shown = [kind for kind in await kinds(coordinator, job) if "fan" in kind or "join" in kind]
        assert shown == ["job.fanned_out", "job.joined"] * 2
    assert runs == ["run", "step", "run", "run"]


@pytest.mark.parametrize(
    ("numbers", "options", "expected"),
    [
        ((13, 14, 2), {"failures": "collect"}, "attempts rejected 4"),
        ((7, 2, 7), {"wait": "any"}, "- 4 -"),
        ((7, 2, 7, 4), {"wait": 2}, "- 4 - 8"),
        ((13, 2, 4), {"failures": 1}, "attempts 4 8"),
        ((13, 14), {"wait": "any", "failures": "collect"}, "attempts rejected"),
        ((), {}, ""),
    ],
)
async def test_what_it_waits_for(numbers: tuple[int, ...], options: dict[str, Any], expected: str) -> None:
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out(to_double(*numbers), **options)))

    assert await said(family(parent)) == expected


async def test_a_failure_ends_the_others_and_the_job() -> None:
    """It fails at once, without another attempt, and again when it is redriven and its children were tried again."""

    def parent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        return Reply(text=told(ctx.fan_out(to_double(7, 13, 7))))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for round_ in (1, 2):
            with pytest.raises(bp.JobFailed, match=r"1 of 3 children .* \(attempts\): ValueError") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "children"
            with anyio.fail_after(LONG):
                while await states_of(coordinator, job) != {"canceled": 2, "failed": 1}:
                    await anyio.sleep(0.01)
            if round_ == 1:
                await coordinator.redrive(job.id)
        shown = [kind for kind in await kinds(coordinator, job) if kind in ("job.fanned_out", "job.retrying")]
        assert shown == ["job.fanned_out"] * 2


async def test_a_failure_can_be_caught() -> None:
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        with pytest.raises(bp.ChildrenFailed) as failed:
            await ctx.fan_out(to_double(13, 14, 7), failures=1)
        assert {child.reason for child in failed.value.failed} == {"attempts", "rejected"}
        return Reply(text=told(await ctx.fan_out(to_double(1))))

    assert await said(family(parent)) == "2"


async def test_nested_and_canceled_with_its_parent() -> None:
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.number == 3:
            await ctx.fan_out(to_double(7, 7))
        results = await ctx.fan_out([bp.Handoff("a", Ask(number=ask.number + 1)), bp.Handoff("double", Ask(number=7))])
        return Reply(text=told(results))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with anyio.fail_after(LONG):
            while len(await coordinator.jobs()) < 9:
                await anyio.sleep(0.01)
        assert await job.cancel()
        with anyio.fail_after(LONG):
            while {info.state for info in await coordinator.jobs()} != {bp.JobState.CANCELED}:
                await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("last", "options", "error"),
    [
        (bp.Handoff("last", Ask()), {}, "may not hand off to 'last'"),
        (bp.Handoff("double", Reply(text="x")), {}, "gave workers.reply@1"),
        (bp.Handoff("double", Ask()), {"wait": 3}, "of 2 children"),
        (bp.Handoff("double", Ask()), {"failures": -1}, "use 'fail_fast'"),
    ],
)
async def test_what_is_refused_makes_no_child(last: Any, options: dict[str, Any], error: str) -> None:
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out([*to_double(1), last], **options)))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match=error):
            await job.result(timeout=LONG)
        assert len(await coordinator.jobs()) == 1


@pytest.mark.parametrize("kind", [tuple, iter])
async def test_any_iterable_of_handoffs(kind: Any) -> None:
    """An iterator was taken for no children at all."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out(kind(to_double(1, 2)))))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=LONG)).text == told([Reply(text="2"), Reply(text="4")])


async def test_a_handoff_that_is_not_in_a_list() -> None:
    """It was a TypeError, and tried three times."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out(to_double(1)[0])))  # type: ignore[arg-type]

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match=r"takes several handoffs, as a list, not one Handoff") as failed:
            await job.result(timeout=LONG)
        assert (failed.value.reason, (await job.info()).attempt) == ("refused", 1)


async def test_another_call_at_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batonpass.workers.context.counted.PATIENCE", 0.1)
    numbers = iter([1, 2])

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out(to_double(next(numbers)))))

    async with serving(family(parent)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match=r"has made other children.*put the old code back, and redrive the job"):
            await job.result(timeout=LONG)


async def test_more_than_one_commit_takes() -> None:
    """1,100 children are staged; the parent gets all results in order, page by page."""

    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=told(await ctx.fan_out(to_double(*[8] * 1099, 16))))

    async with serving(family(parent), concurrency=50) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.WORKING, reason="waiting_children")
        assert (await job.result(timeout=LONG)).text == "16 " * 1099 + "32"


async def states_of(coordinator: bp.Coordinator, parent: bp.Job[Any]) -> Counter[str]:
    return Counter(str(info.state) for info in await coordinator.jobs() if info.parent == parent.id)
