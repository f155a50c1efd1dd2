"""Two jobs on one thread, run by a worker: the second goes on behind the first, or takes its place."""

from __future__ import annotations

from typing import Any, TypedDict

import anyio
import pytest

import batonpass as bp

from .serving import DEADLINE, Ask, Reply, only, serving


async def test_a_running_agent_is_stopped_for_the_next_job(store_url: str) -> None:
    stopped = anyio.Event()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("begun", str, ask.text)
        if ask.text == "second":
            return Reply(text="done")
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
        raise AssertionError

    async with serving(only(agent), store_url, lease=2.0) as coordinator:
        first = await coordinator.submit("a", Ask(text="first"), thread="run")
        with anyio.fail_after(DEADLINE):
            while (latest := await coordinator.latest(thread="run")) is None:
                await anyio.sleep(0.01)
        waiting = await coordinator.submit("a", Ask(text="second"), thread="run", on_busy="queue", returns=Reply)
        with pytest.raises(bp.ResultTimeout, match=r"thread_busy.*another job is running on its thread 'run'"):
            await waiting.result(timeout=0)
        second = await coordinator.submit("a", Ask(text="second"), thread="run", on_busy="interrupt", returns=Reply)
        assert (await second.result(timeout=DEADLINE)).text == "done"
        assert (await waiting.result(timeout=DEADLINE)).text == "done"
        with pytest.raises(bp.JobCanceled):
            await first.result(timeout=DEADLINE)
        with anyio.fail_after(DEADLINE):
            await stopped.wait()
        line = list(reversed(await coordinator.timeline(thread="run")))
        assert [(each.job, each.parent_id) for each in line] == [
            (first.id, None),
            (second.id, latest.id),
            (waiting.id, line[1].id),
        ]


async def test_a_running_agent_is_rolled_back_for_the_next_job(store_url: str) -> None:
    """What it saved stays as a branch. It saves nothing more, and the next job goes on from where it began."""
    refused: list[type[BaseException]] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("begun", str, ask.text)
        if ask.text != "stopped":
            return Reply(text="done")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await ctx.step("too late", str, ask.text)
                except bp.Fenced as error:
                    refused.append(type(error))
        raise AssertionError

    async with serving(only(agent), store_url, lease=2.0) as coordinator:
        before = await coordinator.submit("a", Ask(text="before"), thread="run")
        await before.result(timeout=DEADLINE)
        began = await coordinator.latest(thread="run")
        stopped = await coordinator.submit("a", Ask(text="stopped"), thread="run")
        with anyio.fail_after(DEADLINE):
            while (saved := await coordinator.latest(thread="run")) is None or saved.job != stopped.id:
                await anyio.sleep(0.01)
        following = await coordinator.submit("a", Ask(text="next"), thread="run", on_busy="rollback", returns=Reply)
        assert (await following.result(timeout=DEADLINE)).text == "done"
        with anyio.fail_after(DEADLINE):
            while not refused:
                await anyio.sleep(0.01)
        assert refused == [bp.Canceled]
        assert began is not None
        line = {each.job: each for each in await coordinator.timeline(thread="run")}
        assert [line[each.id].parent_id for each in (stopped, following)] == [began.id] * 2
        assert len(line) == len(await coordinator.timeline(thread="run")) == 3


class Text(TypedDict, total=False):
    text: str
    number: int


def work(state: Text) -> Text:
    return {"text": state.get("text", "") + "!"}


@pytest.mark.capability("langgraph")
async def test_graphs_follow_each_other_on_a_thread(store_url: str) -> None:
    """Each begins afresh, and its checkpoints follow those of the job before."""
    from langgraph.graph import START, StateGraph

    app = bp.App("graphs")

    @app.langgraph("a", accepts=Ask, returns=Reply)
    def graph() -> Any:
        made = StateGraph(Text)
        made.add_node("work", work)
        made.add_edge(START, "work")
        return made

    async with bp.connect(store_url, app=app) as coordinator:
        jobs = [
            await coordinator.submit("a", Ask(text=text), thread="run", on_busy="queue", returns=Reply)
            for text in ("one", "two")
        ]
        async with app.worker(coordinator):
            assert [(await job.result(timeout=DEADLINE)).text for job in jobs] == ["one!", "two!"]
        line = list(reversed(await coordinator.timeline(thread="run")))
        assert [each.job for each in line] == [jobs[0].id, jobs[0].id, jobs[1].id, jobs[1].id]
        assert [each.parent_id for each in line] == [None, *(each.id for each in line[:-1])]
