"""An agent's function called alone in a test: what it would leave to a worker is said in its words."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.testing import context


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
    async with bp.connect("memory://alone", app=app) as coordinator:
        with pytest.raises(bp.BadSetup, match="agents='desk', but it must be a list of names"):
            app.worker(coordinator, agents=names)
    with bp.connect("memory://alone") as sync:
        others: list[Any] = ["memory://alone", sync]
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
