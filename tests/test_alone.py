"""An agent's function called alone in a test: an error names whatever it would leave to a worker."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.testing import asked, context, serving


class Text(bp.Contract, name="alone.text"):
    text: str


app = bp.App("alone")


@app.agent("reader", accepts=Text, returns=Text)
async def reader(text: Text) -> Text:
    return text


@app.agent("desk", accepts=Text, returns=Text, hands_to={"reader": Text})
async def desk(text: Text, ctx: bp.Context) -> Text:
    if text.text == "ask":
        return Text(text=await ctx.ask("sure?"))
    if text.text == "fan out":
        return Text(text=str(await ctx.fan_out([bp.Handoff("reader", text)])))
    ctx.reject("not for me")


@pytest.mark.parametrize("does", ["ask", "fan out"])
async def test_what_ends_the_run_is_for_a_worker(does: str) -> None:
    with pytest.raises(bp.Refused, match=f"agent 'desk' would {does} here.* batonpass.testing.serving"):
        async with context(desk, Text(text=does)) as ctx:
            await desk(Text(text=does), ctx)


async def test_a_refused_job() -> None:
    with pytest.raises(bp.JobRejected, match="rejected by agent 'desk': not for me"):
        async with context(desk, Text(text="")) as ctx:
            await desk(Text(text=""), ctx)


async def test_a_fan_out_of_something_else() -> None:
    children: list[Any] = [reader]
    async with context(desk, Text(text="")) as ctx:
        with pytest.raises(bp.BadSetup, match=r"ctx\.fan_out\(\) takes handoffs, not Agent"):
            await ctx.fan_out(children)


async def test_a_worker_of_something_else() -> None:
    names: Any = "desk"
    async with bp.connect("memory://", app=app) as coordinator:
        with pytest.raises(bp.BadSetup, match="agents='desk', but it must be a list of names"):
            app.worker(coordinator, agents=names)
    with bp.connect("memory://") as sync:
        others: list[Any] = ["memory://", sync]
        for other in others:
            with pytest.raises(bp.BadSetup, match="a worker needs an open coordinator: `async with batonpass"):
                app.worker(other)


def test_a_handoff_takes_a_name() -> None:
    with pytest.raises(bp.BadSetup, match=r"Handoff\(to=\) takes the agent's name, here 'reader'"):
        bp.Handoff(reader, Text(text=""))  # type: ignore[arg-type]


def test_an_agent_that_is_declared_again_says_what_to_do() -> None:
    with pytest.raises(
        bp.BadSetup, match=r"two agents named 'reader'.* in a notebook, also run the cell that creates the App"
    ):
        app.add(reader)


@app.agent("counter", accepts=Text, returns=Text, hands_to={"reader": Text})
def counter(text: Text, ctx: bp.SyncContext) -> Text:
    assert bp.current().job_id == ctx.job_id
    if text.text == "ask":
        return Text(text=ctx.ask("sure?"))
    if text.text == "reject":
        ctx.reject("not for me")
    return Text(text=f"{ctx.step('count', len, text.text)} {ctx.resources}")


def test_sync_code_needs_no_event_loop() -> None:
    with context(counter, Text(text="rain"), resources="kept") as ctx:
        assert counter(Text(text="rain"), ctx) == Text(text="4 kept")
        assert ctx.step("twice", lambda: 2) == 2
    with pytest.raises(bp.NoJob):
        bp.current()


def test_what_ends_the_run_in_sync_code() -> None:
    with pytest.raises(bp.Refused, match="agent 'counter' would ask here"), context(counter, Text(text="ask")) as ctx:
        counter(Text(text="ask"), ctx)
    with pytest.raises(bp.JobRejected, match="not for me"), context(counter, Text(text="reject")) as ctx:
        counter(Text(text="reject"), ctx)


def test_a_whole_app_serves_sync_code(sqlite_url: str) -> None:
    for url in ("memory://", sqlite_url):
        with serving(app, url) as coordinator:
            job = coordinator.submit("counter", Text(text="rain"), returns=Text)
            assert job.result(timeout=30) == Text(text="4 None")
            asking = coordinator.submit("desk", Text(text="ask"), returns=Text)
            assert asked(asking) == "sure?"
            asking.answer("yes")
            assert asking.result(timeout=30) == Text(text="yes")


@app.agent("twice", accepts=Text, returns=Text)
async def twice(text: Text, ctx: bp.Context) -> Text:
    return Text(text=f"{await ctx.ask('first?')} {await ctx.ask('second?')}")


async def test_a_test_plays_the_person() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("twice", Text(text=""), returns=Text)
        for question, answer in (("first?", "one"), ("second?", "two")):
            assert await asked(job) == question
            await job.answer(answer)
        assert await job.result(timeout=30) == Text(text="one two")


async def test_a_job_that_asks_nothing() -> None:
    async with serving(app) as coordinator:
        done = await coordinator.submit("reader", Text(text="x"))
        with pytest.raises(bp.WrongState, match=f"{done.id} is completed and asked nothing"):
            await asked(done)
        rejected = await coordinator.submit("desk", Text(text="x"))
        with pytest.raises(bp.WrongState, match=f"{rejected.id} is rejected and asked nothing: not for me"):
            await asked(rejected)
        later = await coordinator.submit("desk", Text(text="ask"), delay=60)
        with pytest.raises(bp.ResultTimeout, match="is submitted at agent 'desk' and has asked nothing in time"):
            await asked(later, timeout=0.05)


def test_a_context_of_something_else() -> None:
    name: Any = "desk"
    with pytest.raises(bp.BadSetup, match=r"context\(\) takes an agent.*, not a value of type str"):
        context(name, Text(text="")).__enter__()
