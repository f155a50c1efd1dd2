"""The chain guard: a job that goes in circles, too far or beyond its budget is parked, and can go on from there."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import Ask, Reply, kinds, only, parked, reached, serving


class Desk:
    """Two agents that pass a job to each other until there are `enough` drafts. Each draft spends 10 tokens."""

    def __init__(self, enough: int = 99) -> None:
        self.enough = enough
        self.drafts: list[str] = []
        self.app = bp.App("desk")
        self.app.agent("draft", accepts=Ask, hands_to={"review": Ask})(self._draft)
        self.app.agent("review", accepts=Ask, hands_to={"draft": Ask}, returns=Reply)(self._review)

    async def _draft(self, ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask]:
        made = await ctx.step("write", self._write, ask.text)
        ctx.spend(tokens=10, cost=0.5)
        return ctx.hand_off("review", Ask(text=made))

    def _write(self, text: str) -> str:
        self.drafts.append(text)
        return f"{text}."

    def _review(self, ask: Ask, ctx: bp.SyncContext) -> bp.Handoff[Ask] | Reply:
        if len(ask.text) >= self.enough:
            return Reply(text=f"{ask.text} for {ctx.spent.tokens}, {ctx.spent.cost:g}")
        return ctx.hand_off("draft", ask)


async def test_a_loop_is_parked_with_its_path_and_goes_on_without_redoing_the_hop(store_url: str) -> None:
    desk = Desk(enough=8)
    async with serving(desk.app, store_url) as coordinator:
        job = await coordinator.submit("draft", Ask(), returns=Reply)
        told = await parked(job)
        assert "not passed on to 'review', 6 rounds in a row are more than repeats=5: (draft -> review) x6: " in told
        assert desk.drafts == ["." * n for n in range(6)]
        [event] = [event async for event in coordinator.events(job=job.id) if event.type.endswith("job.failed")]
        assert (event.data["reason"], event.data["error"]) == ("chain_guard", told)
        assert (await job.info()).spent == bp.Spent(60, 3.0)

        await coordinator.redrive(job.id)  # as it is, it gets no further
        assert "6 rounds" in await parked(job)
        await coordinator.redrive(job.id, guard=bp.Guard(repeats=20))
        assert (await job.result(timeout=30)).text == "........ for 80, 4"
        assert desk.drafts == ["." * n for n in range(8)]
        info = await job.info()
        assert (info.guard, info.spent, info.path) == (bp.Guard(repeats=20), bp.Spent(80, 4), ("draft", "review") * 8)


async def test_a_redrive_keeps_the_limits_that_its_guard_does_not_name(store_url: str) -> None:
    desk = Desk(enough=99)
    async with serving(desk.app, store_url) as coordinator:
        first = bp.Guard(hops=5, tokens=1000, cost=20)
        job = await coordinator.submit("draft", Ask(), guard=first)
        assert "more than hops=5" in await parked(job)
        await coordinator.redrive(job.id, guard=bp.Guard(repeats=2))
        assert "more than hops=5" in await parked(job)
        assert (await job.info()).guard == replace(first, repeats=2)
        await coordinator.redrive(job.id, guard=bp.Guard())
        assert "more than hops=5" in await parked(job)
        assert (await job.info()).guard == replace(first, repeats=2)
        # What is named counts, also if it is the default.
        await coordinator.redrive(job.id, guard=bp.Guard(hops=50, repeats=5, cost=None))
        assert "more than repeats=5" in await parked(job)
        assert (await job.info()).guard == bp.Guard(tokens=1000)


async def test_a_loop_below_the_limit_passes() -> None:
    async with serving(Desk(enough=5).app) as coordinator:
        job = await coordinator.submit("draft", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "..... for 50, 2.5"


@pytest.mark.parametrize("how", ["fork", "hand_off"])
async def test_a_job_that_goes_on_from_a_checkpoint_may_have_another_limit(how: str) -> None:
    """The limit is the new job's, whatever the one had that the checkpoint is of."""
    async with serving(Desk(enough=8).app) as coordinator:
        saved = await coordinator.save(thread="t", agent="draft", state={"text": ""})
        guard = bp.Guard(repeats=20)
        if how == "fork":
            job = await coordinator.fork(saved.id, agent="draft", guard=guard, returns=Reply)
        else:
            job = await coordinator.hand_off(saved.id, to="draft", guard=guard, returns=Reply)
        assert (await job.result(timeout=30)).text == "........ for 80, 4"


async def test_hops_are_counted(store_url: str) -> None:
    desk = Desk()
    async with serving(desk.app, store_url) as coordinator:
        job = await coordinator.submit("draft", Ask(), guard=bp.Guard(hops=4))
        assert "not passed on to 'draft', 5 hops are more than hops=4: (draft -> review) x2 -> draft" in await parked(
            job
        )
        assert len((await job.info()).path) == 4


async def test_another_payload_or_state_runs_the_hop_again() -> None:
    desk = Desk(enough=99)
    async with serving(desk.app) as coordinator:
        jobs = [await coordinator.submit("draft", Ask(), guard=bp.Guard(hops=1)) for _ in range(2)]
        for job in jobs:
            await parked(job)
        desk.enough = 3
        await coordinator.redrive(jobs[0].id, changes={"write": "mended"}, guard=bp.Guard(hops=50))
        assert (await jobs[0].result(timeout=30)).text == "mended for 20, 1"
        await coordinator.redrive(jobs[1].id, changes={"write": "mended"})
        assert "2 hops are more than hops=1" in await parked(jobs[1])


async def test_over_budget_a_hop_stops_after_its_next_write(store_url: str) -> None:
    ran: Counter[str] = Counter()

    async def works(ask: Ask, ctx: bp.Context) -> Reply:
        def work(name: str) -> None:
            ctx.spend(tokens=40)
            ran[name] += 1

        for name in ("one", "two", "three"):
            await ctx.step(name, work, name)
        return Reply(text=f"{ctx.spent.tokens} of {ctx.guard.tokens}")

    async with serving(only(works), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=50))
        told = await parked(job)
        assert told == (
            f"job {job.id} is over its budget (tokens spent: 80 of 50): redrive it with a guard= "
            "(batonpass redrive JOB --guard JSON) that allows more"
        )
        assert ran == {"one": 1, "two": 1}
        await coordinator.redrive(job.id)
        await parked(job)
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=200))
        assert (await job.result(timeout=30)).text == "120 of 200"
        assert ran == {"one": 1, "two": 1, "three": 1}
        assert (await job.info()).spent == bp.Spent(120)


@pytest.mark.parametrize("swallows", [True, False])
async def test_code_that_swallows_it_gets_no_further(swallows: bool) -> None:
    def greedy(ask: Ask, ctx: bp.SyncContext) -> bp.Handoff[Ask]:
        ctx.spend(cost=3)
        try:
            ctx.check()
        except bp.OverBudget:
            if not swallows:
                raise
        return ctx.hand_off("b", ask)

    app = only(greedy, returns=None, hands_to={"b": Ask})
    app.agent("b", accepts=Ask, returns=Reply)(lambda ask: Reply(text="b"))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), guard=bp.Guard(cost=2))
        assert "cost spent: 3 of 2" in await parked(job)
        assert "job.handed_off" not in await kinds(coordinator, job)


@pytest.mark.parametrize("fails", [True, False])
async def test_code_that_swallows_it_ends_over_budget(fails: bool) -> None:
    async def greedy(ask: Ask, ctx: bp.Context) -> Reply:
        def think() -> str:
            ctx.spend(cost=3)
            return "thought"

        with suppress(Exception):
            await ctx.step("think", think)
        if fails:
            raise ValueError("no thought")
        return Reply(text="no thought")

    async with serving(only(greedy, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask(), guard=bp.Guard(cost=2))
        assert "cost spent: 3 of 2" in await parked(job)
        assert [each.step for each in await coordinator.timeline(job.id)] == ["think"]


async def test_what_a_failed_attempt_spent_counts(store_url: str) -> None:
    def fails(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.spend(tokens=30)
        raise ValueError(f"spent {ctx.spent.tokens}")

    async with serving(only(fails, retries=bp.Retry(attempts=9, first=0.01)), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), guard=bp.Guard(tokens=50))
        assert "tokens spent: 60 of 50" in await parked(job)


@pytest.mark.parametrize("how", ["fails", "rejects", "is canceled"])
@pytest.mark.parametrize("signed", [False, True])
async def test_what_the_last_hop_spent_is_told_however_the_job_ends(signed: bool, how: str, store_url: str) -> None:
    app = bp.App("two")

    @app.agent("a", accepts=Ask, hands_to={"b": Ask})
    def first(ask: Ask, ctx: bp.SyncContext) -> bp.Handoff[Ask]:
        ctx.spend(tokens=10)
        return ctx.hand_off("b", ask)

    @app.agent("b", accepts=Ask, returns=Reply, retries=1)
    async def second(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", lambda: ctx.spend(tokens=5))
        if how == "rejects":
            ctx.reject("no")
        if how == "is canceled":
            await ctx.emit("paid")
            await anyio.sleep_forever()
        raise ValueError(how)

    codec = bp.Codec(sign={"key": b"k" * 16}) if signed else None
    async with bp.connect(store_url, app=app, codec=codec) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("a", Ask(), returns=Reply)
        if how == "is canceled":
            async for _ in job.stream():
                break
            await job.cancel()
        assert (await reached(job, *(state for state in bp.JobState if state.ended))).spent == bp.Spent(15)
        assert [info.spent for info in await coordinator.jobs()] == [bp.Spent(15)]
        if how == "fails":
            await coordinator.redrive(job.id)
            assert (await reached(job, bp.JobState.FAILED)).spent == bp.Spent(15)


async def test_what_was_spent_before_a_question_counts_after_it(store_url: str) -> None:
    runs = iter([30, 0])

    async def asks(ask: Ask, ctx: bp.Context) -> Reply:
        ctx.spend(tokens=next(runs))
        answer = await ctx.ask("more?")
        return Reply(text=f"{answer} {ctx.spent.tokens}")

    async with serving(only(asks), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("no")
        assert (await job.result(timeout=30)).text == "no 30"


async def test_who_spends_too_much_when_nobody_answers_fails_at_once(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The end of the attempt is still written, though the note before it is refused."""

    async def asks(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            await ctx.ask("more?", timeout=0.05)
        except bp.Unanswered:
            ctx.spend(tokens=100)
            raise
        return Reply(text="")

    async with serving(only(asks, lease=60), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=10))
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, info.crashes, info.spent) == ("unanswered", 0, bp.Spent(100))
    assert "not written" not in caplog.text


async def test_a_fallback_is_a_hop_too() -> None:
    app = bp.App("two")

    @app.agent("a", accepts=Ask, returns=Reply, retries=1, fallback="b")
    def a(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.spend(tokens=5)
        raise ValueError("no")

    @app.agent("b", accepts=Ask, returns=Reply)
    def b(ask: Ask, ctx: bp.SyncContext) -> Reply:
        return Reply(text=f"{ctx.spent.tokens} of {ctx.guard.tokens}")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(tokens=9))
        assert (await job.result(timeout=30)).text == "5 of 9"
        job = await coordinator.submit("a", Ask(), returns=Reply, guard=bp.Guard(hops=1))
        assert (await reached(job, bp.JobState.FAILED)).reason == "attempts"


@pytest.mark.parametrize("spent", [{"tokens": -1}, {"cost": float("nan")}, {"cost": float("inf")}, {"cost": 10**400}])
async def test_what_can_not_be_spent(spent: dict[str, Any]) -> None:
    def odd(ask: Ask, ctx: bp.SyncContext) -> Reply:
        ctx.spend(**spent)
        return Reply(text="")

    async with serving(only(odd)) as coordinator:
        job = await coordinator.submit("a", Ask())
        assert "both must be 0 or more" in ((await reached(job, bp.JobState.FAILED)).error or "")
