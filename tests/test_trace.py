"""A caller's trace context goes with its job, wherever that goes."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.commands import ReadJob
from batonpass.testing import context, serving

from .cli.commandline import CommandLine

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


steps = bp.App("steps")


@steps.agent("saves", accepts=Ask, returns=Told)
async def saves(ask: Ask, ctx: bp.Context) -> Told:
    return Told(traces=[await ctx.step("trace", lambda: dict(ctx.trace))])


async def test_it_goes_through_retries_handoffs_and_children(store_url: str) -> None:
    async with serving(app, store_url) as coordinator:
        job = await coordinator.submit("first", Ask(), returns=Told, trace=TRACE, key="k")
        told = await job.result(timeout=30)
        assert told.traces == [{"traceparent": TRACE["traceparent"]}, TRACE, TRACE]
        again = await coordinator.submit("first", Ask(), returns=Told, trace={"traceparent": "another"}, key="k")
        assert again.id == job.id  # a second try of the same request has its own trace


@pytest.mark.parametrize("how", ["hand_off", "fork"])
@pytest.mark.parametrize("own", [None, {"traceparent": "00-own"}, {}], ids=repr)
async def test_a_job_that_goes_on_from_a_checkpoint_has_that_jobs_or_its_own(
    how: str, own: dict[str, str] | None
) -> None:
    async with serving(steps, "memory://") as coordinator:
        job = await coordinator.submit("saves", Ask(), returns=Told, trace=TRACE)
        await job.result(timeout=30)
        [saved] = await coordinator.timeline(job.id)
        if how == "fork":
            next_job = await coordinator.fork(saved.id, agent="saves", payload=Ask(), trace=own)
        else:
            next_job = await coordinator.hand_off(saved.id, to="saves", payload=Ask(), trace=own)
        told = await next_job.result(timeout=30)
        assert told.traces == [TRACE if own is None else own]


async def test_a_job_that_goes_on_from_what_is_left_of_another_has_none() -> None:
    async with serving(steps, "memory://") as coordinator:
        job = await coordinator.submit("saves", Ask(), returns=Told, thread="t", trace=TRACE)
        await job.result(timeout=30)
        [saved] = await coordinator.timeline("t")
        await coordinator.delete_job(job.id)
        told = await (await coordinator.fork(saved.id, agent="saves", payload=Ask())).result(timeout=30)
        assert told.traces == [{}]
        as_given: Any = {"trace": TRACE}
        with pytest.raises(bp.BadSetup, match="trace= is for the job of an agent="):
            await coordinator.fork(saved.id, **as_given)


def test_on_the_command_line(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        cli = CommandLine(store_url, capsys, monkeypatch)
        parts = [part for name, value in TRACE.items() for part in ("--trace", f"{name}={value}")]
        row = coordinator.store.call(ReadJob(cli("submit", "child", "{}", *parts).out.strip()))
    assert open_envelope(row.envelope, of="it").trace == TRACE
    assert cli("submit", "child", "{}", "--trace", "00-0af7").complaint.startswith(
        "--trace '00-0af7': write HEADER=VALUE"
    )


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
