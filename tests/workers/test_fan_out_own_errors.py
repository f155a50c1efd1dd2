"""A parent that failed with an error of its own after children of its had failed, and is redriven."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.commands import Fail, ReadOutcomes
from batonpass.workers.session import LeaseSession
from tests.workers.serving import Ask, Reply, reached, serving

pytestmark = pytest.mark.anyio
LONG = 30.0


class Collector:
    """A parent that collects failures, and makes an error of its own of them. `then` is what it does before that."""

    def __init__(self, then: str) -> None:
        self.broken, self.ran = True, Counter[str]()
        self.then = then
        self.coordinator: bp.Coordinator | None = None
        self.app = bp.App("order")
        self.app.agent("child", accepts=Ask, returns=Reply, retries=1)(self._child)
        self.app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)(self._parent)

    async def _child(self, ask: Ask) -> Reply:
        self.ran[str(ask.number)] += 1
        if ask.number and self.broken:
            with anyio.fail_after(LONG):  # or the first one may be canceled
                while self.coordinator and not await self.coordinator.jobs(state="completed"):
                    await anyio.sleep(0.005)
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    async def _parent(self, ask: Ask, ctx: bp.Context) -> Reply:
        self.ran["parent"] += 1
        children = [bp.Handoff("child", Ask(number=number)) for number in range(2)]
        if self.then == "catches":
            try:
                results = await ctx.fan_out(children)
            except bp.ChildrenFailed:
                raise RuntimeError("no luck") from None
        else:
            results = await ctx.fan_out(children, failures="collect")
        if self.then == "records" and self.ran["parent"] == 2:  # later runs end before they come to it
            await ctx.step("note", str)
        if any(isinstance(each, bp.ChildFailed) for each in results):
            raise RuntimeError("no luck")
        return Reply(text=str([each.text for each in results]))


@pytest.mark.parametrize("then", ["collects", "catches"])
@pytest.mark.parametrize("alone", [False, True], ids=["parent", "child-first"])
async def test_one_that_failed_over_its_children_without_saying_so(then: str, alone: bool, store_url: str) -> None:
    """It had recorded nothing since. It was only told of the same failures again, whatever was redriven."""
    desk = Collector(then)
    async with serving(desk.app, store_url) as coordinator:
        desk.coordinator = coordinator
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck") as failed:
            await job.result(timeout=LONG)
        assert failed.value.reason == "children"
        desk.broken = False
        if alone:
            [child] = await coordinator.jobs(parent=job.id, state="failed")
            await coordinator.redrive(child.id)
            await coordinator.job(child.id, returns=Reply).result(timeout=LONG)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "['0', '1']"
    assert desk.ran == {"0": 1, "1": 2, "parent": 4 - alone}


@pytest.mark.parametrize("alone", [False, True], ids=["parent", "child-first"])
async def test_one_that_had_recorded_more_since_is_told_the_same_again(alone: bool, store_url: str) -> None:
    """What it has recorded may depend on how its children ended."""
    desk = Collector("records")
    async with serving(desk.app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert failed.value.reason == "attempts"
            desk.broken = False
            if alone:
                for child in await coordinator.jobs(parent=job.id, state="failed"):
                    await coordinator.redrive(child.id)
                    await coordinator.job(child.id).result(timeout=LONG)
            await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
    assert desk.ran["1"] == 1 + alone


@pytest.mark.parametrize("then", ["fans out", "asks"])
async def test_one_that_had_made_more_of_their_results(then: str, store_url: str) -> None:
    """A later attempt failed before it came to that again. If the lost child went on, nothing would fit any more."""
    runs, broken = Counter[str](), True
    app = bp.App("order")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        if ask.number and broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        runs["parent"] += 1
        first = await ctx.fan_out([bp.Handoff("child", Ask(number=number)) for number in range(2)], failures="collect")
        if runs["parent"] > 2 and broken:
            raise RuntimeError("the network is down")
        done = [each.text for each in first if isinstance(each, Reply)]
        if then == "asks":
            return Reply(text=str(await ctx.ask(f"are {done} enough?")))
        [only] = await ctx.fan_out([bp.Handoff("child", Ask(text=str(done)))])
        return Reply(text=f"{done}, {only.text}")

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        if then == "asks":
            await reached(job, bp.JobState.INPUT_REQUIRED)
            await job.answer("yes")
        with pytest.raises(bp.JobFailed, match="the network is down") as failed:
            await job.result(timeout=LONG)
        assert failed.value.reason == "attempts"
        broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == ("yes" if then == "asks" else "['0'], 0")


async def test_fan_outs_at_once_in_threads(store_url: str) -> None:
    """Some are told of their loss before the pool has started others: a person says that all go on."""
    broken = True
    app = bp.App("order")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        if broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    def parent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        def call(number: int) -> Any:
            both.wait(30)  # or the pool gives both to one thread
            if number:
                told.wait(1)
            [found] = ctx.fan_out([bp.Handoff("child", Ask(number=number))], failures="collect")
            told.set()
            return found

        both, told = threading.Barrier(2), threading.Event()
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(call, range(2)))
        if any(isinstance(each, bp.ChildFailed) for each in found):
            raise RuntimeError("no luck")
        return Reply(text=" ".join(each.text for each in found))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
        broken = False
        await coordinator.redrive(job.id, lost_children=True)
        assert (await job.result(timeout=LONG)).text == "0 1"


@pytest.mark.parametrize("how", ["", "busy", "the last one first", "a step before each", "a step beside"])
async def test_fan_outs_at_once_that_all_lost_children(how: str, store_url: str) -> None:
    """Only the last one's went on, and then it failed for ever. (If something new was recorded after it was told of the
    first loss, a person has to say so.)"""
    runs, broken = Counter[int](), True
    app = bp.App("order")

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        runs[ask.number] += 1
        if ask.number and broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    made = [[bp.Handoff("child", Ask(number=number)) for number in (0, last)] for last in (1, 2, 3)]

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        async def call(number: int) -> list[Any]:
            if how:
                await asyncio.sleep((2 - number if how == "the last one first" else number) / 20)
            if how == "a step before each":
                await ctx.step(f"step {number}", int)
            return await ctx.fan_out(made[number], failures="collect")

        async def beside() -> list[Any]:
            if how == "a step beside":
                await asyncio.sleep(0.2)
                await ctx.step("beside", int)
            return []

        calls = [asyncio.create_task(each) for each in (*map(call, range(3)), beside())]
        everything = asyncio.gather(*calls)
        if how == "the last one first":  # the run ends with what the first one raises
            await calls[0]
        *pairs, _ = await everything
        if any(isinstance(each, bp.ChildFailed) for pair in pairs for each in pair):
            raise RuntimeError("no luck")
        return Reply(text=" ".join(each.text for pair in pairs for each in pair))

    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            assert how or failed.value.reason == "children"
            assert runs[1] == runs[2] == runs[3]
            broken = runs[1] == 1
            await coordinator.redrive(job.id, lost_children=bool(how))
        assert (await job.result(timeout=LONG)).text == "0 1 0 2 0 3"
    assert runs == {0: 3, 1: 3, 2: 3, 3: 3}


async def test_how_often_it_reads_how_their_children_ended(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call read it of all those that had been called before, so that many at once took hours."""
    read, real, broken = Counter[tuple[int, str]](), LeaseSession.awrite, True
    app = bp.App("order")

    async def counted(session: LeaseSession, command: Any) -> Any:
        answer: Any = await real(session, command)
        if isinstance(command, ReadOutcomes):
            assert answer, "an empty page"
            read[session.token, command.fan] += 1
        return answer

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        if broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        made = [[bp.Handoff("child", Ask(number=number))] for number in range(6)]
        pairs = await asyncio.gather(*(ctx.fan_out(each, failures="collect") for each in made))
        if any(isinstance(each, bp.ChildFailed) for [each] in pairs):
            raise RuntimeError("no luck")
        return Reply(text="done")

    monkeypatch.setattr(LeaseSession, "awrite", counted)
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="no luck"):
            await job.result(timeout=LONG)
        broken = False
        read.clear()
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "done"
    assert set(read.values()) <= {1, 2}  # before it is called, and then


@pytest.mark.parametrize("fails_of", ["another", "the same"])
async def test_one_whose_failure_was_not_written_at_first(
    fails_of: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went on without the lost child. What it had noted for that failure had a later redrive make the child again,
    and then its effect did not fit any more: the job ended as `refused`."""
    full, broken, real = True, True, LeaseSession.awrite
    runs = Counter[int]()
    app = bp.App("order")

    async def writing(session: LeaseSession, command: Any) -> Any:
        nonlocal full
        if isinstance(command, Fail) and session.agent == "a" and full:
            full = False
            raise bp.Overloaded("full")
        return await real(session, command)

    async def caught(call: Awaitable[list[Any]]) -> bp.ChildrenFailed | None:
        try:
            await call
        except bp.ChildrenFailed as error:
            return error
        return None

    @app.agent("child", accepts=Ask, returns=Reply, retries=1)
    async def child(ask: Ask) -> Reply:
        runs[ask.number] += 1
        if ask.number and broken:
            raise ValueError("broken")
        return Reply(text=str(ask.number))

    @app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)
    async def parent(ask: Ask, ctx: bp.Context) -> Reply:
        made = [[bp.Handoff("child", Ask(number=number)) for number in (0, last)] for last in (1, 2)]
        first, last = await asyncio.gather(ctx.fan_out(made[0], failures="collect"), caught(ctx.fan_out(made[1])))
        if full:
            raise RuntimeError("the network is down")
        done = [each.text for each in first if isinstance(each, Reply)]
        await ctx.effect("mail", str, done)
        if fails_of == "another":
            await ctx.fan_out([bp.Handoff("child", Ask(number=3))])
        elif last:
            raise last
        return Reply(text=str(done))

    monkeypatch.setattr(LeaseSession, "awrite", writing)
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="children of job") as failed:
            await job.result(timeout=LONG)
        assert failed.value.reason == "children"
        broken = False
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=LONG)).text == "['0']"
    assert runs[1] == 1
