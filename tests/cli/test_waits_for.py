"""`batonpass show` says what a job waits for: nobody should have to guess."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

import batonpass as bp

from ..workers.serving import Reply, reached, serving
from .commandline import CommandLine

pytestmark = pytest.mark.each_store


class Order(bp.Contract, name="waits.order"):
    text: str = ""
    customer: str = ""


def test_a_job_says_what_it_waits_for(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(store_url, capsys, monkeypatch)
    app, over = bp.App("waits"), anyio.Event()

    async def wait(order: Order) -> Reply:
        await over.wait()
        return Reply(text="")

    async def later(order: Order) -> Reply:
        raise bp.RetryLater(300)

    app.agent("one", accepts=Order, returns=Reply, concurrency=1, limit_by="customer")(wait)
    app.agent("rated", accepts=Order, returns=Reply, rate=bp.Rate(1, per=3600))(wait)
    app.agent("later", accepts=Order, returns=Reply)(later)

    async def told(job: bp.Job[object]) -> str | None:
        shown = await anyio.to_thread.run_sync(run, "show", job.id, "--json")
        assert shown.json["waits_for"] == await job.waits_for()
        return await job.waits_for()

    async def main() -> None:
        async with serving(app, store_url) as coordinator:
            await _look(coordinator, told)
            over.set()

    anyio.run(main)


async def _look(coordinator: bp.Coordinator, told: Callable[[bp.Job[object]], Awaitable[str | None]]) -> None:
    first = await coordinator.submit("one", Order(customer="c-7"), thread="mine")
    await reached(first, bp.JobState.WORKING)
    assert await told(first) is None

    limited = await coordinator.submit("one", Order(customer="c-7"))
    await reached(limited, bp.JobState.SUBMITTED, reason="limited")
    place = f"job {first.id} has a place"
    assert await told(limited) == f"a limit of agent 'one' for customer=\"c-7\": at most 1 at once; {place}"

    turn = [await coordinator.submit("one", Order(), thread="mine", on_busy="queue") for _ in range(2)]
    has = f"its thread 'mine', which job {first.id} has until it ends (working at one)"
    assert {await told(job) for job in turn} == {has, f"{has} (1 more in line before it)"}

    rated = await coordinator.submit("rated", Order())
    await reached(rated, bp.JobState.WORKING)
    rated = await coordinator.submit("rated", Order())
    await reached(rated, bp.JobState.SUBMITTED, reason="rate_limited")
    said = await told(rated) or ""
    assert said.startswith("a limit of agent 'rated': at most 1 start(s) in 3600 s; the next may start at 20"), said

    job = await coordinator.submit("later", Order())
    info = await reached(job, bp.JobState.SUBMITTED, reason="retry_at")
    assert info.due_at is not None
    said = await told(job) or ""
    assert said.startswith(f"{info.due_at:%Y-%m-%d %H:%M:%S} UTC (for its next attempt), after "), said

    job = await coordinator.submit("later", Order(), delay=60)
    info = await job.info()
    assert await told(job) == f"{info.due_at:%Y-%m-%d %H:%M:%S} UTC (for the time that it was submitted for)"

    await coordinator.pause_agent("later", reason="no model")
    said = await told(job) or ""
    assert said.startswith("its agent to be resumed: agent 'later' is paused since 20"), said
    assert said.endswith(" UTC: no model (`batonpass resume` lets it go on)"), said


def test_that_no_worker_is_there(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(store_url, capsys, monkeypatch)
    app = bp.App("waits")
    app.agent("orphan", accepts=Order, returns=Reply)(lambda order: Reply(text=""))
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        now, later = coordinator.submit("orphan", Order()), coordinator.submit("orphan", Order(), delay=60)
        lacks = "no live worker serves agent 'orphan' with waits.order@1: start one"
        assert run("show", now.id, "--json").json["waits_for"] == now.waits_for() == f"a worker: {lacks}"
        assert f"waits_for      a worker: {lacks}" in run("show", now.id).out
        assert (later.waits_for() or "").endswith(f" (for the time that it was submitted for); then {lacks}")
        now.cancel()
        assert now.waits_for() is None
