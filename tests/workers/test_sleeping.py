"""ctx.sleep: a job waits without a worker, once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

import batonpass as bp
from batonpass.testing import context

from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving

SHORT, LONG = 0.05, 3600.0


async def polls(ask: Ask, ctx: bp.Context) -> Reply:
    for look in range(3):
        await ctx.step("look", str, look)
        await ctx.sleep(SHORT)
    return Reply(text="seen")


def polls_in_a_thread(ask: Ask, ctx: bp.SyncContext) -> Reply:
    for look in range(3):
        ctx.step("look", str, look)
        ctx.sleep(timedelta(seconds=SHORT))
    return Reply(text="seen")


async def in_a_group(ask: Ask, ctx: bp.Context) -> Reply:
    async with asyncio.TaskGroup() as tasks:
        for number, seconds in enumerate((SHORT, 2 * SHORT, 3 * SHORT)):
            tasks.create_task(ctx.sleep(seconds, key=str(number)))
    return Reply(text="seen")


async def taken_for_results(ask: Ask, ctx: bp.Context) -> Reply:
    sleeps = [ctx.sleep(seconds, key=str(seconds)) for seconds in (SHORT, 2 * SHORT, 3 * SHORT)]
    await asyncio.gather(*sleeps, return_exceptions=True)
    return Reply(text="seen")


def in_threads(ask: Ask, ctx: bp.SyncContext) -> Reply:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda number: ctx.sleep(number * SHORT, key=str(number)), (1, 2, 3)))
    return Reply(text="seen")


@pytest.mark.parametrize("agent", [polls, polls_in_a_thread, in_a_group, taken_for_results, in_threads])
async def test_each_sleep_happens_once(agent: Callable[..., Any], store_url: str) -> None:
    async with serving(only(agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "seen"
        told = [event async for event in coordinator.events(job=job.id, types=("job.sleeping", "job.started"))]
        times = len(told) // 2
        assert [event.type.rpartition(".")[2] for event in told] == [*["started", "sleeping"] * times, "started"]
        waits = [int(b.data["due"]) / 1000 - b.time.timestamp() for b in told[1::2]]
        if agent in (polls, polls_in_a_thread):
            assert times == 3
            assert max(waits) < SHORT + 0.01  # the rest of each, however late that is written
        else:  # at once, each for its own time, and not one after the other
            assert times <= 3
            assert sum(waits) < 3.5 * SHORT


async def test_it_needs_no_worker(store_url: str) -> None:
    """Not even a slot: with one, others run meanwhile. Another worker goes on."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.number:
            await ctx.step("begin", str, 1)
            await ctx.sleep(1.0)
        return Reply(text=await ctx.step("end", str, ask.number))

    app = only(agent)
    async with bp.connect(store_url, app=app) as coordinator:
        async with app.worker(coordinator, concurrency=1):
            asleep = await coordinator.submit("a", Ask(number=1), returns=Reply)
            info = await reached(asleep, bp.JobState.SUBMITTED, reason="sleeping")
            other = await coordinator.submit("a", Ask(), returns=Reply)
            assert (await other.result(timeout=DEADLINE)).text == "0"
        assert info.lease is None
        assert info.due_at is not None
        async with app.worker(coordinator):
            assert (await asleep.result(timeout=DEADLINE)).text == "1"
        told = await kinds(coordinator, asleep)
        assert (told.count("job.sleeping"), told.count("job.started")) == (1, 2)


async def test_a_failure_after_it_sleeps_no_more() -> None:
    ran: list[str] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.sleep(SHORT)
        ran.append("awake")
        if len(ran) < 3:
            raise ValueError("not yet")
        return Reply(text="done")

    async with serving(only(agent, retries=bp.Retry(attempts=2, first=0))) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await reached(job, bp.JobState.FAILED)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=DEADLINE)).text == "done"
        assert (await kinds(coordinator, job)).count("job.sleeping") == 1


async def test_code_that_chooses_another_time_with_each_run() -> None:
    """As a wait with jitter does. An earlier run's time counts."""
    times = [SHORT, LONG, SHORT, LONG, LONG]

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        for _ in range(2):
            await ctx.sleep(times.pop(0))
        return Reply(text="done")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "done"
        assert (await kinds(coordinator, job)).count("job.sleeping") == 2


async def asleep(coordinator: bp.Coordinator) -> tuple[str, datetime]:
    """The job that sleeps, and until when."""
    with anyio.fail_after(DEADLINE):
        while not (found := [each for each in await coordinator.jobs() if each.reason == "sleeping"]):
            await anyio.sleep(0.005)
    [info] = found
    assert info.due_at is not None
    return info.id, info.due_at


@pytest.mark.parametrize("way", ["deadline", "siblings", "import"])
async def test_a_job_that_was_cut_off_sleeps_for_the_rest(way: str, sqlite_url: str, tmp_path: Path) -> None:
    """What should happen in an hour does not happen at once because the job failed meanwhile."""
    begun = anyio.Event()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.text == "parent":
            await ctx.fan_out([ctx.hand_off("a", Ask(text=text)) for text in ("", "fails")])
        if ask.text == "fails" and not begun.is_set():  # only once
            await begun.wait()
            raise ValueError("no")
        if ask.text != "fails":
            await ctx.sleep(LONG)
        return Reply(text="awake")

    app = only(agent, hands_to={"a": Ask}, retries=1)
    async with serving(app, sqlite_url) as coordinator:
        deadline = 0.3 if way == "deadline" else None
        job = await coordinator.submit("a", Ask(text="parent" if way == "siblings" else ""), deadline=deadline)
        sleeps, until = await asleep(coordinator)
        begun.set()
        if way == "import":
            await coordinator.export_bundle(job.id, tmp_path / "job")
        else:
            await reached(job, bp.JobState.FAILED)
            await coordinator.redrive(job.id)
            again, later = await asleep(coordinator)
            assert (again, abs(later - until) < timedelta(seconds=1)) == (sleeps, True)
    if way == "import":
        async with serving(app, f"{sqlite_url}.other") as coordinator:
            await coordinator.import_bundle(tmp_path / "job")
            await coordinator.redrive(job.id)
            again, later = await asleep(coordinator)
            assert (again, abs(later - until) < timedelta(seconds=1)) == (sleeps, True)


async def test_beside_a_question(store_url: str) -> None:
    """The sleep goes on while the job waits for the answer, and does not begin anew."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await asyncio.gather(ctx.sleep(LONG, key="long"), ctx.ask("sure?"), return_exceptions=True)
        return Reply(text="done")

    async with serving(only(agent), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        state: dict[str, object] = {}
        with anyio.fail_after(DEADLINE):
            while not state:
                for each in await coordinator.timeline(thread=job.id):
                    state = (await coordinator.restore(each.id)).state
                await anyio.sleep(0.005)
        assert list(state) == ["#sleep:long"]


async def test_in_tasks_of_its_own_each_needs_a_key() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        async def in_thread(delay: float) -> None:
            await anyio.to_thread.run_sync(lambda: ctx.sync.sleep(delay))

        for sleep in (ctx.sleep, in_thread):
            with pytest.raises(bp.BadSetup, match="needs key="):
                await asyncio.gather(sleep(SHORT))
        return Reply(text="refused")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "refused"


async def test_a_step_of_the_same_name_is_another() -> None:
    """And is called as ever: a worker of an older release may have recorded it."""

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        said = await ctx.step("sleep", str, "well")
        await ctx.sleep(SHORT)
        return Reply(text=said + await ctx.step("sleep", str, "!"))

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "well!"
        assert (await kinds(coordinator, job)).count("job.sleeping") == 1


async def test_a_sleeping_job_is_canceled_at_once() -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.sleep(timedelta(weeks=4))
        return Reply(text="")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask())
        info = await reached(job, bp.JobState.SUBMITTED, reason="sleeping")
        assert info.due_at is not None
        assert timedelta(weeks=4) - (info.due_at - info.updated_at) < timedelta(seconds=1)
        await job.cancel()
        assert (await job.info()).state == bp.JobState.CANCELED


@pytest.mark.parametrize("delay", [-1, None, float("nan"), "soon"])
async def test_a_time_that_can_not_be_is_refused(delay: Any) -> None:
    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        with pytest.raises(bp.BadSetup, match=r"delay|duration"):
            await ctx.sleep(delay)
        return Reply(text="refused")

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "refused"


async def test_a_test_of_one_agent_does_not_wait() -> None:
    agent, in_a_thread = only(polls)["a"], only(polls_in_a_thread)["a"]
    async with context(agent, Ask()) as ctx:
        assert (await agent(Ask(), ctx)).text == "seen"
        await ctx.sleep(LONG)
        await anyio.to_thread.run_sync(ctx.sync.sleep, LONG)
    with context(in_a_thread, Ask()) as sync:
        assert in_a_thread(Ask(), sync).text == "seen"
        sync.sleep(LONG)


@pytest.mark.capability("langgraph")
async def test_an_agent_of_a_framework_is_told_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    from langgraph.graph import StateGraph

    async def node(state: dict[str, Any]) -> dict[str, Any]:
        with pytest.raises(bp.BadSetup, match=r"hand off to a plain function that sleeps"):
            await bp.current().sleep(SHORT)
        return {"text": "refused"}

    def graph() -> Any:
        made: Any = cast(Any, StateGraph)(dict)
        made.add_node("node", node)
        return made.set_entry_point("node").set_finish_point("node")

    app = bp.App("one")
    app.langgraph("a", accepts=Ask, returns=Reply)(graph)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "refused"
