"""A parent that failed because children of its failed is redriven: what other children completed is not done again."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers import upkeep
from tests.workers.serving import Ask, Reply, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


class Panel:
    """A parent of children 0 to 3, each of which spends 10 tokens. The third waits for the first two, and fails while
    the panel is `broken`."""

    def __init__(self, **options: Any) -> None:
        self.runs: Counter[int] = Counter()
        self.broken = True
        self.options = options
        self.app = bp.App("panel")
        self.app.agent("child", accepts=Ask, returns=Reply, retries=1)(self._child)
        self.app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})(self._parent)

    async def _child(self, ask: Ask, ctx: bp.Context) -> Reply:
        self.runs[ask.number] += 1
        ctx.spend(tokens=10)
        if ask.number == 2:
            with anyio.fail_after(LONG):
                while not (self.runs[0] and self.runs[1]):
                    await anyio.sleep(0.005)
        if ask.number >= 2 and self.broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    async def _parent(self, ask: Ask, ctx: bp.Context) -> Reply:
        children = [bp.Handoff("child", Ask(number=number)) for number in range(4)]
        results = await ctx.fan_out(children, **self.options)
        shown = [each.text if isinstance(each, Reply) else each and each.reason for each in results]
        return Reply(text=f"{shown} for {ctx.spent.tokens}")


async def test_only_the_failed_ones_are_made_again(store_url: str) -> None:
    """That holds however many redrives it takes, and what all children spent counts."""
    panel = Panel(failures=1)
    async with serving(panel.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for round_ in (1, 2):
            with pytest.raises(bp.JobFailed, match=r"2 of 4 children"):
                await job.result(timeout=LONG)
            assert panel.runs == {0: 1, 1: 1, 2: round_, 3: round_}
            panel.broken = round_ == 1
            await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "['0', '1', '2', '3'] for 80"
        assert panel.runs == {0: 1, 1: 1, 2: 3, 3: 3}


@pytest.mark.parametrize("attempts", [1, 2])
async def test_an_agent_that_makes_an_error_of_its_own_of_that(attempts: int, store_url: str) -> None:
    """It was never made again, whatever was redriven."""
    broken, ran = True, Counter[int]()
    app = bp.App("order")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        ran[ask.number] += 1
        if ask.number and broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    @app.agent(
        "a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=bp.Retry(attempts=attempts, first=0.01)
    )
    async def order(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            results = await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(2)])
        except bp.ChildrenFailed as error:
            raise RuntimeError("the order failed") from error
        return Reply(text=str([each.text for each in results]))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="the order failed") as failed:
            await job.result(timeout=LONG)
        assert failed.value.reason == "children"
        broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "['0', '1']"
    assert ran[1] == 2


@pytest.mark.parametrize(("kind", "reason"), [(RuntimeError, "ambiguous"), (bp.ContractViolation, "contract")])
async def test_an_error_of_its_own_that_a_redrive_does_not_mend_keeps_its_reason(
    kind: type[Exception], reason: str
) -> None:
    """Such as an effect that nobody knows the outcome of: the children are not all that somebody must look at."""
    app = bp.App("order")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        raise ValueError("broken")

    async def refund() -> None:
        raise OSError("no network")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def order(ask: Ask, ctx: bp.Context) -> Reply:
        try:
            await ctx.fan_out([bp.Handoff("child", Ask())])
        except bp.ChildrenFailed as error:
            if reason == "ambiguous":
                with suppress(OSError):
                    await ctx.effect("refund", refund)
            raise kind("the order failed") from error
        return Reply(text="never")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match="the order failed") as failed:
            await job.result(timeout=LONG)
        assert failed.value.reason == reason


async def test_one_that_waits_for_a_number_of_them() -> None:
    panel = Panel(wait=3)
    async with serving(panel.app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"of 4 children"):
            await job.result(timeout=LONG)
        panel.broken = False
        await coordinator.redrive(job.id)
        text = (await job.result(timeout=LONG)).text
        assert text.startswith("['0', '1', ")
        assert text.count("None") == 1


async def test_enough_were_completed_after_it_was_over(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the failed child is not made again, even if the agent is run again because of another one."""
    monkeypatch.setattr(upkeep, "_PAUSE", LONG)  # nobody cancels what is left
    app, runs = bp.App("late"), Counter[str]()

    @app.agent("child", accepts=Ask, returns=Reply)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        runs["child"] += 1
        if ask.number:
            return Reply(text="never")
        sibling = [info for info in await coordinator.jobs() if info.parent and info.id != ctx.job_id]
        await coordinator.job(sibling[0].id).cancel()
        return Reply(text="late")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        children = [bp.Handoff("child", Ask(number=number)) for number in range(2)]
        results = await ctx.fan_out(children, wait="any", failures=0)
        more = await ctx.fan_out([bp.Handoff("child", Ask(number=2))])
        return Reply(text=f"{results[0].text} {results[1]} {more[0].text}")

    async with serving(app, store_url, concurrency=1) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 2 children"):
            await job.result(timeout=LONG)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "late None never"
        assert runs == {"child": 2}


async def test_a_failure_that_is_raised_after_a_later_fan_out(store_url: str) -> None:
    """A redrive makes those children again that it is about, and none of the later one."""
    app, runs = bp.App("later"), Counter[int]()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        runs[ask.number] += 1
        if ask.number == 1 and runs[1] < 3:
            raise ValueError("not yet")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        failed, first = None, list[Reply]()
        try:
            first = await ctx.fan_out([bp.Handoff("child", Ask(number=each)) for each in (0, 1)])
        except bp.ChildrenFailed as error:
            failed = error
        [later] = await ctx.fan_out([bp.Handoff("child", Ask(number=2))])
        if failed:
            raise failed
        return Reply(text=" ".join([*(reply.text for reply in first), later.text]))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match=r"1 of 2 children"):
                await job.result(timeout=LONG)
            await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1 2"
        assert runs == {0: 1, 1: 3, 2: 1}


async def test_one_that_was_redriven_with_another_payload(store_url: str) -> None:
    """It is two levels below the job that was submitted. Each level goes on with what was mended below, and makes
    nothing again."""
    app, runs = bp.App("mended"), Counter[int]()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        runs[ask.number] += 1
        if ask.number < 0:
            raise ValueError("below zero")
        ctx.spend(tokens=10)
        return Reply(text=str(ask.number))

    @app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("child", ask)])
        return Reply(text=f"middle {only.text}")

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"middle": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("middle", ask)])
        return Reply(text=f"{only.text} for {ctx.spent.tokens}")

    async with serving(app, store_url) as coordinator:
        await coordinator.submit("a", Ask(number=-1))
        letters: dict[str, str] = {}
        with anyio.fail_after(LONG):
            while len(letters) < 3:
                letters = {letter.agent: letter.id for letter in await coordinator.dead_letters()}
                await anyio.sleep(0.005)
        text = ""
        for agent, payload in (("child", Ask(number=1)), ("middle", None), ("a", None)):
            await coordinator.redrive(letters[agent], payload=payload)
            text = (await coordinator.job(letters[agent], returns=Reply).result(timeout=LONG)).text
        assert text == "middle 1 for 10"
        assert runs == {-1: 1, 1: 1}


async def test_a_failed_child_goes_on_from_its_steps(store_url: str) -> None:
    """So does one below it. No job is made in its place, and what it spent counts once."""
    app, steps = bp.App("steps"), list[str]()
    broken = True

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", steps.append, f"child {ask.number}")
        ctx.spend(tokens=10)
        if ask.number and broken:
            raise ValueError("not yet")
        return Reply(text=str(ask.number))

    @app.agent("middle", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def middle(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", steps.append, "middle")
        replies = await ctx.fan_out([bp.Handoff("child", Ask(number=each)) for each in (0, 1)], failures=1)
        if isinstance(replies[1], bp.ChildFailed):
            raise bp.ChildrenFailed("the second is needed", failed=[replies[1]])
        return Reply(text=" ".join(reply.text for reply in replies))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"middle": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        [only] = await ctx.fan_out([bp.Handoff("middle", ask)])
        return Reply(text=f"{only.text} for {ctx.spent.tokens}")

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 1 children"):
            await job.result(timeout=LONG)
        broken = False
        before = {info.id for info in await coordinator.jobs()}
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1 for 30"
        assert sorted(steps) == ["child 0", "child 1", "middle"]
        assert {info.id for info in await coordinator.jobs()} == before


async def test_canceled_children_go_on(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that were running when another failed nor that one does a step twice, and what they spent counts
    once."""
    monkeypatch.setattr(upkeep, "_PAUSE", LONG)  # nobody has canceled them when their parent goes on
    app, steps = bp.App("canceled"), Counter[int]()
    broken = True

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        def pay() -> None:
            steps.update([ask.number])
            ctx.spend(tokens=10)

        await ctx.step("paid", pay)
        if broken and ask.number == 2:
            with anyio.fail_after(LONG):
                while len(steps) < 3:
                    await anyio.sleep(0.005)
            raise ValueError("not yet")
        if broken:
            await anyio.sleep_forever()
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        replies = await ctx.fan_out([bp.Handoff("child", Ask(number=each)) for each in range(3)])
        return Reply(text=f"{' '.join(reply.text for reply in replies)} for {ctx.spent.tokens}")

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match=r"1 of 3 children"):
            await job.result(timeout=LONG)
        broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1 2 for 30"
        assert steps == {0: 1, 1: 1, 2: 1}
        assert len(await coordinator.jobs()) == 4


async def test_children_of_a_parent_that_was_too_late_go_on(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nobody has canceled them when their parent is redriven."""
    monkeypatch.setattr(upkeep, "_PAUSE", LONG)
    app, steps, broken = bp.App("late"), Counter[int](), True

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("paid", lambda: steps.update([ask.number]))
        if broken:
            await anyio.sleep_forever()
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask})
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        replies = await ctx.fan_out([bp.Handoff("child", Ask(number=each)) for each in range(2)])
        return Reply(text=" ".join(reply.text for reply in replies))

    async with serving(app, store_url, concurrency=8) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply, deadline=1.0)
        with pytest.raises(bp.JobFailed, match="deadline"):
            await job.result(timeout=LONG)
        broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1"
        assert steps == {0: 1, 1: 1}
        assert len(await coordinator.jobs()) == 3


async def test_tasks_whose_fan_outs_fail_in_one_group(store_url: str) -> None:
    """The first failure ends the job as if it were alone, and a redrive makes those children again."""
    app, runs = bp.App("group"), Counter[int]()

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask, ctx: bp.Context) -> Reply:
        runs[ask.number] += 1
        if runs[ask.number] == 1:
            raise ValueError("not yet")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=2)
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        made = [[bp.Handoff("child", Ask(number=number))] for number in (0, 1)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ctx.fan_out(each)) for each in made]
        return Reply(text=" ".join(task.result()[0].text for task in tasks))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match=r"1 of 1 children"):
                await job.result(timeout=LONG)
            assert (await job.info()).reason == "children"
            await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "0 1"
        assert runs == {0: 2, 1: 2}
