"""Guards of jobs that fan out: what children spend counts for their parents, however they end."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp
from batonpass.workers import upkeep

from .serving import Ask, Reply, parked, reached, serving


@pytest.mark.parametrize(("tokens", "told"), [(100, "40"), (39, "tokens spent: 40 of 39")])
async def test_what_children_spend_counts_once(tokens: int, told: str, store_url: str) -> None:
    app = bp.App("family")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    def child(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.spend(tokens=5 * ask.number)
        if ask.number == 1:
            raise ValueError("its tokens are spent all the same")
        if ask.text:
            ctx.reject("so are those")
        return Reply(text="")

    @app.agent("a", accepts=Ask, hands_to={"child": Ask}, returns=Reply, retries=bp.Retry(first=0.01))
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("before", lambda: ctx.spend(tokens=10))
        asked = [Ask(number=number) for number in range(3)]
        await ctx.fan_out([ctx.hand_off("child", ask) for ask in [*asked, Ask(number=3, text="no")]], failures=2)
        await ctx.step("after", str, 1)
        if ctx.attempt == 1:
            raise ValueError("once more")
        return Reply(text=str(ctx.spent.tokens))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=tokens))
        if tokens < 40:
            assert told in await parked(job)
        else:
            assert (await job.result(timeout=30)).text == told
            assert (await job.info()).spent == bp.Spent(40)


async def test_a_parent_whose_children_spent_too_much_ends_where_it_joins_them(store_url: str) -> None:
    """Although it spends nothing more. Their results are there when it is redriven."""
    app, runs = bp.App("family"), list[int]()

    @app.agent("child", accepts=Ask, returns=Reply)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        runs.append(ask.number)
        ctx.spend(tokens=9)
        return Reply(text="child")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=str(len(await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(3)]))))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=20))
        assert "tokens spent: 27 of 20" in await parked(job)
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=30))
        assert (await job.result(timeout=60)).text == "3"
        assert len(runs) == 3


async def test_a_child_over_its_budget_goes_on_within_the_new_one_of_those_above_it(store_url: str) -> None:
    app, steps = bp.App("family"), list[str]()

    @app.agent("child", accepts=Ask, returns=Reply)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        for name in ("first", "second"):
            await ctx.step(name, steps.append, name)
            ctx.spend(tokens=20)
        return Reply(text="child")

    @app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        return Reply(text=str(only.text))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"middle": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("middle", ask)])
        return Reply(text=str(only.text))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=10))
        assert (await reached(job, bp.JobState.FAILED)).reason == "children"
        [letter] = [each for each in await coordinator.dead_letters() if each.agent == "child"]
        assert (letter.reason, steps) == ("chain_guard", ["first"])
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=100))
        assert (await job.result(timeout=60)).text == "child"
        assert len(steps) == 2


@pytest.mark.parametrize("fails", [False, True])
async def test_what_canceled_children_spent_counts(
    store_url: str, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both what children spent that somebody cancels, and children that nobody waits for any more, on their second hop.
    The latter have not been canceled yet when their parent is done."""
    monkeypatch.setattr(upkeep, "_PAUSE", 3600.0)
    app, hanging = bp.App("family"), list[str]()

    async def hang(count: int) -> None:
        while len(hanging) < count:
            await anyio.sleep(0.005)

    @app.agent("child", accepts=Ask, hands_to={"next": Ask}, returns=Reply)
    async def child(ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask] | Reply:
        if not ask.number:
            await hang(3)
            return Reply(text="")
        await ctx.step("paid", lambda: ctx.spend(tokens=ask.number))
        return ctx.hand_off("next", ask)

    @app.agent("next", accepts=Ask, returns=Reply)
    async def following(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.number == 1:
            await ctx.step("paid", lambda: ctx.spend(tokens=1))
        hanging.append(ctx.job_id)
        await hang(99)
        return Reply(text="")

    @app.agent("a", accepts=Ask, hands_to={"child": Ask}, returns=Reply, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", lambda: ctx.spend(tokens=1000))
        await ctx.fan_out([ctx.hand_off("child", Ask(number=n)) for n in (10, 1)], failures="collect")
        await ctx.fan_out([ctx.hand_off("child", Ask(number=n)) for n in (100, 0)], wait="any")
        if fails:
            raise ValueError("once it has paid")
        return Reply(text=str(ctx.spent.tokens))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with anyio.fail_after(30):
            await hang(2)
        for each in hanging[:2]:
            await coordinator.job(each).cancel()
        info = await reached(job, bp.JobState.COMPLETED, bp.JobState.FAILED)
        assert (info.state, info.spent) == (bp.JobState.FAILED if fails else bp.JobState.COMPLETED, bp.Spent(1112))
        if not fails:
            assert (await job.result()).text in ("1012", "1112")  # the last one may be canceled by then


@pytest.mark.parametrize("at", ["below", "joined"])
async def test_what_children_of_canceled_children_spent_counts(
    at: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One child waits for its own children, of which one is done and one runs; another goes on after its own ended."""
    monkeypatch.setattr(upkeep, "_PAUSE", 3600.0)
    app, hanging, release = bp.App("family"), anyio.Event(), anyio.Event()

    @app.agent("below", accepts=Ask, returns=Reply)
    async def below(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", lambda: ctx.spend(tokens=ask.number))
        if ask.number > 1 and at == "below":
            hanging.set()
            await anyio.sleep_forever()
        return Reply(text="")

    @app.agent("middle", accepts=Ask, hands_to={"below": Ask}, returns=Reply)
    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        if not ask.number:
            await release.wait()
            return Reply(text="")
        await ctx.step("paid", lambda: ctx.spend(tokens=100))
        await ctx.fan_out([ctx.hand_off("below", Ask(number=n)) for n in (1, 10)])
        await ctx.step("after", lambda: ctx.spend(tokens=1000))
        hanging.set()
        await anyio.sleep_forever()
        raise AssertionError

    @app.agent("a", accepts=Ask, hands_to={"middle": Ask}, returns=Reply)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", lambda: ctx.spend(tokens=10_000))
        await ctx.fan_out([ctx.hand_off("middle", Ask(number=n)) for n in (1, 0)], wait="any")
        return Reply(text="")

    async with serving(app, store_url, concurrency=8) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with anyio.fail_after(30):
            await hanging.wait()
            while at == "below" and "completed" not in {each.state for each in await coordinator.jobs()}:
                await anyio.sleep(0.005)
        release.set()
        await job.result(timeout=30)
        assert (await job.info()).spent == bp.Spent(10_111 if at == "below" else 11_111)
