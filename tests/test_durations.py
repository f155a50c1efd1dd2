"""Every time span that a caller gives is seconds or a timedelta."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

import batonpass as bp

SECOND = timedelta(seconds=1)
SOON = timedelta(milliseconds=20)


class Text(bp.Contract, name="durations.text"):
    text: str


app = bp.App("durations")


@app.agent(
    "sleep", accepts=Text, returns=Text, timeout=SOON, lease=60 * SECOND, retries=bp.Retry(on=TimeoutError, attempts=1)
)
async def sleep(text: Text, ctx: bp.Context) -> Text:
    await anyio.sleep_forever()
    return text


@app.agent("again", accepts=Text, returns=Text, retries=bp.Retry(attempts=5, first=SOON, longest=SOON, within=SECOND))
async def again(text: Text, ctx: bp.Context) -> Text:
    if ctx.attempt == 1:
        raise bp.RetryLater(SOON)
    if ctx.attempt == 2:
        raise ValueError("not yet")
    return Text(text=f"attempt {ctx.attempt}")


async def test_an_agent_and_its_retries() -> None:
    async with bp.connect("memory://durations", app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit(again, Text(text=""), returns=Text)
        assert (await job.result(timeout=20 * SECOND)).text == "attempt 3"
        with pytest.raises(bp.JobFailed, match="TimeoutError"):
            await (await coordinator.submit(sleep, Text(text=""))).result(timeout=20 * SECOND)
    with pytest.raises(bp.ResultTimeout):
        await app.run(sleep, Text(text=""), timeout=timedelta(0))


async def test_a_worker() -> None:
    async with bp.connect("memory://durations", app=app) as coordinator, app.worker(coordinator, lease=60 * SECOND):
        job = await coordinator.submit(again, Text(text=""), returns=Text)
        assert (await job.result(timeout=20)).text == "attempt 3"


@pytest.mark.parametrize("wrong", [float("nan"), "20"])
def test_what_is_no_time_to_wait_or_to_lease(wrong: Any) -> None:
    with bp.connect("memory://durations", app=app) as coordinator:
        job = coordinator.submit(again, Text(text=""))
        with pytest.raises(bp.BadSetup, match=r"20|timeout=nan"):
            job.result(timeout=wrong)


@pytest.mark.parametrize("wrong", [float("nan"), "20"])
async def test_what_is_no_time_to_wait_or_to_lease_in_async_code(wrong: Any) -> None:
    async with bp.connect("memory://durations", app=app) as coordinator:
        job = await coordinator.submit(again, Text(text=""))
        with pytest.raises(bp.BadSetup, match=r"20|timeout=nan"):
            await job.result(timeout=wrong)
        with pytest.raises(bp.BadSetup, match=r"20|lease=nan"):
            app.worker(coordinator, lease=wrong)


async def test_checkpoints_and_jobs() -> None:
    async with bp.connect("memory://durations", app=app) as coordinator:
        kept = await coordinator.save(thread="t", agent="a", state={}, ttl=60 * SECOND)
        assert kept.expires_at is not None
        assert kept.expires_at - kept.created_at == 60 * SECOND
        assert await coordinator.prune("t", older_than=60 * SECOND) == 0
        assert await coordinator.prune_jobs(older_than=timedelta(days=1)) == 0
        async with coordinator.consume("all", lease=60 * SECOND) as events:
            assert (await anext(aiter(events))).type == "batonpass.checkpoint.saved"


@pytest.mark.parametrize("timeout", [timedelta(0), timedelta(days=400)])
def test_one_that_can_not_be_meant(timeout: timedelta) -> None:
    with pytest.raises(bp.BadSetup, match="it must be from a millisecond to a year"):
        bp.Agent(name="a", kind="function", fn=sleep.fn, accepts=Text, returns=Text, timeout=timeout)
