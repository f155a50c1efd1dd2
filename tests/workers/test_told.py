"""What a worker's log tells the author of an agent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.testing import serving as served

from .serving import DEADLINE, Ask, Reply, only


async def spoilt(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text=await ctx.step("count", count, ask.text))


def count(text: str) -> str:
    return str(1 // len(text))


def blocked(ask: Ask) -> Reply:
    return Reply(text=count(ask.text))


@pytest.mark.parametrize("agent", [spoilt, blocked])
async def test_an_errors_trace_begins_in_the_agent(
    agent: Callable[..., Any], caplog: pytest.LogCaptureFixture, store_url: str
) -> None:
    async with served(only(agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(text=""), returns=Reply)
        with pytest.raises(bp.JobFailed, match="ZeroDivisionError"):
            await job.result(timeout=DEADLINE)
    [told] = [record for record in caplog.records if record.exc_info]
    assert told.exc_info
    first, *_, last = _places(logging.Formatter().formatException(told.exc_info))
    assert (first, last) == (agent.__name__, "count")


def too_much(ask: Ask) -> Reply:
    raise ValueError("begins" + "." * 1_000_000 + "ends")


def caused_by_too_much(ask: Ask) -> Reply:
    try:
        return too_much(ask)
    except ValueError as error:
        raise RuntimeError("no luck") from error


@pytest.mark.parametrize("agent", [too_much, caused_by_too_much])
async def test_of_a_very_long_error_the_start_and_the_end_are_logged(
    agent: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """As they are kept with the job."""
    with pytest.raises(bp.JobFailed):
        await only(agent, retries=1).run("a", Ask(), timeout=DEADLINE)
    [told] = [record for record in caplog.records if record.exc_info]
    trace = caplog.handler.format(told)
    assert len(trace) < 100_000
    assert "ValueError: begins" in trace
    assert trace.endswith("...ends" if agent is too_much else "RuntimeError: no luck")
    assert told.filename == "closing.py"


async def test_a_cancel_is_no_warning(caplog: pytest.LogCaptureFixture, store_url: str) -> None:
    caplog.set_level(logging.INFO, "batonpass.worker")
    running = anyio.Event()

    async def endless(ask: Ask) -> Reply:
        running.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with served(only(endless), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        with anyio.fail_after(DEADLINE):
            await running.wait()
            await job.cancel()
            while not any("canceled" in record.getMessage() for record in caplog.records):
                await anyio.sleep(0.01)
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.INFO] == []
    assert f"job {job.id} hop 0 a: canceled" in [record.getMessage() for record in caplog.records]


def _places(trace: str) -> list[str]:
    return [line.rpartition(" in ")[2] for line in trace.splitlines() if line.startswith("  File ")]
