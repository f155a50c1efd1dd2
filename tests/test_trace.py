"""A caller's trace context goes with its job, wherever that goes."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.testing import context, serving

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "own=1"}


class Ask(bp.Contract, name="trace.ask"):
    text: str = ""


class Told(bp.Contract, name="trace.told"):
    traces: list[dict[str, str]]


app = bp.App("trace")


@app.agent("first", accepts=Ask, hands_to={"second": Ask}, retries=bp.Retry(attempts=2, first=0.01))
async def first(ask: Ask, ctx: bp.Context) -> bp.Handoff:
    if ctx.attempt == 1:
        raise RuntimeError("once more")
    return ctx.hand_off("second", Ask(text=ctx.trace.get("traceparent", "")))


@app.agent("second", accepts=Ask, returns=Told, hands_to={"child": Ask})
def second(ask: Ask, ctx: bp.SyncContext) -> Told:
    [child] = ctx.fan_out([bp.Handoff("child", Ask())])
    return Told(traces=[{"traceparent": ask.text}, dict(ctx.trace), *child.traces])


@app.agent("child", accepts=Ask, returns=Told)
async def child(ask: Ask) -> Told:
    return Told(traces=[dict(bp.current().trace)])


async def test_it_goes_through_retries_handoffs_and_children(store_url: str) -> None:
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("first", Ask(), returns=Told, trace=TRACE, key="k")
        told = await job.result(timeout=30)
        assert told.traces == [{"traceparent": TRACE["traceparent"]}, TRACE, TRACE]
        again = await coordinator.submit("first", Ask(), returns=Told, trace={"traceparent": "another"}, key="k")
        assert again.id == job.id  # another try of the same request has a trace of its own


async def test_without_one_it_is_empty() -> None:
    async with context(child, Ask()) as ctx:
        assert (ctx.trace, ctx.sync.trace) == ({}, {})


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        ("00-0af7", "trace='00-0af7', but it must be a dict"),
        ({"traceparent": 7}, "must be a dict of texts by name"),
        ({"baggage": "x" * 9000}, "trace= has 9007 characters: .* it may have 8192"),
    ],
)
async def test_what_is_none(trace: Any, says: str) -> None:
    async with bp.connect("memory://", app=app) as coordinator:
        with pytest.raises(bp.BadSetup, match=says):
            await coordinator.submit("first", Ask(), trace=trace)
        assert await coordinator.jobs() == []
