"""Every time span that a caller gives is a number of seconds or a timedelta, and every count a whole number."""

from __future__ import annotations

from collections.abc import Callable
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
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit(again, Text(text=""), returns=Text)
        assert (await job.result(timeout=20 * SECOND)).text == "attempt 3"
        with pytest.raises(bp.JobFailed, match="TimeoutError"):
            await (await coordinator.submit(sleep, Text(text=""))).result(timeout=20 * SECOND)
    with pytest.raises(bp.ResultTimeout):
        await app.run(sleep, Text(text=""), timeout=timedelta(0))


async def test_a_worker() -> None:
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator, lease=60 * SECOND):
        job = await coordinator.submit(again, Text(text=""), returns=Text)
        assert (await job.result(timeout=20)).text == "attempt 3"


@pytest.mark.parametrize("wrong", [float("nan"), "20"])
def test_what_is_no_time_to_wait_or_to_lease(wrong: Any) -> None:
    with bp.connect("memory://", app=app) as coordinator:
        job = coordinator.submit(again, Text(text=""))
        with pytest.raises(bp.BadSetup, match=r"20|timeout=nan"):
            job.result(timeout=wrong)


@pytest.mark.parametrize("wrong", [float("nan"), "20"])
async def test_what_is_no_time_to_wait_or_to_lease_in_async_code(wrong: Any) -> None:
    async with bp.connect("memory://", app=app) as coordinator:
        job = await coordinator.submit(again, Text(text=""))
        with pytest.raises(bp.BadSetup, match=r"20|timeout=nan"):
            await job.result(timeout=wrong)
        with pytest.raises(bp.BadSetup, match=r"20|lease=nan"):
            app.worker(coordinator, lease=wrong)


async def test_checkpoints_and_jobs() -> None:
    async with bp.connect("memory://", app=app) as coordinator:
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


HUGE = 10**400  # a number that no float holds


@pytest.mark.parametrize("wrong", [True, HUGE, -HUGE, "5", float("nan")], ids=["True", "huge", "-huge", "text", "nan"])
@pytest.mark.parametrize(
    "take",
    [
        lambda face, wrong: face.submit(again, Text(text=""), delay=wrong),
        lambda face, wrong: face.submit(again, Text(text=""), deadline=wrong),
        lambda face, wrong: face.save(thread="t", agent="a", state={}, ttl=wrong),
        lambda face, wrong: face.prune("t", older_than=wrong),
        lambda face, wrong: face.consume("g", lease=wrong),
        lambda face, wrong: bp.Rate(1, per=wrong),
        lambda face, wrong: bp.Retry(first=wrong),
        lambda face, wrong: bp.Retry(factor=wrong),
        lambda face, wrong: bp.Agent(name="a", kind="function", fn=print, accepts=Text, returns=Text, lease=wrong),
    ],
    ids=["delay", "deadline", "ttl", "older_than", "consume", "rate", "retry", "factor", "lease"],
)
def test_what_is_no_time_span(take: Callable[[Any, Any], Any], wrong: Any) -> None:
    with bp.connect("memory://", app=app) as face, pytest.raises(bp.BadSetup):
        take(face, wrong)


@pytest.mark.parametrize(
    "wrong", [True, -1, 1.5, float("nan"), HUGE, "5"], ids=["True", "-1", "1.5", "nan", "huge", "text"]
)
@pytest.mark.parametrize(
    "take",
    [
        lambda face, wrong: face.jobs(limit=wrong),
        lambda face, wrong: face.inbox(limit=wrong),
        lambda face, wrong: face.dead_letters(limit=wrong),
        lambda face, wrong: face.timeline("t", limit=wrong),
        lambda face, wrong: face.prune("t", keep_last=wrong),
        lambda face, wrong: face.consume("g", batch=wrong),
        lambda face, wrong: face.trim_events(wrong),
        lambda face, wrong: bp.Rate(wrong),
        lambda face, wrong: bp.Retry(attempts=wrong),
        lambda face, wrong: agent(retries=wrong),
        lambda face, wrong: agent(concurrency=wrong),
        lambda face, wrong: agent(max_waiting=wrong),
        lambda face, wrong: agent(max_payload=wrong),
        lambda face, wrong: agent(rate=wrong),
        lambda face, wrong: agent(state_version=wrong),
    ],
)
def test_what_is_no_count(take: Callable[[Any, Any], Any], wrong: Any) -> None:
    with bp.connect("memory://", app=app) as face, pytest.raises(bp.BadSetup):
        take(face, wrong)


def agent(**options: Any) -> None:
    bp.Agent(name="a", kind="function", fn=sleep.fn, accepts=Text, returns=Text, **options)


@pytest.mark.parametrize("asked", [HUGE, -HUGE], ids=["huge", "-huge"])
def test_an_error_that_asks_for_a_wait_that_no_float_holds(asked: int) -> None:
    """It used to end the worker that had the job, and every worker after it."""
    longest = 86_400 * 1.1
    assert bp.Retry(first=SOON, jitter=0).pause(1, bp.RetryLater(asked)) <= longest


async def test_to_wait_for_longer_than_any_float_is_for_ever() -> None:
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit(again, Text(text=""), returns=Text)
        assert (await job.result(timeout=HUGE)).text == "attempt 3"
        with pytest.raises(bp.ResultTimeout):
            await (await coordinator.submit(sleep, Text(text=""), delay=60)).result(timeout=-HUGE)
