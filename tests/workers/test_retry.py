"""An attempt that raises, or takes too long, is tried again with backoff; then the job fails with its reason."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers import outcomes

from .serving import Ask, Reply, kinds, only, reached, serving


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the wait."""
    monkeypatch.setattr(outcomes, "_FIRST_RETRY", 0.01)


@pytest.mark.usefixtures("soon")
async def test_an_agent_that_raises_is_tried_again_and_keeps_its_steps(store_url: str) -> None:
    ran: Counter[str] = Counter()

    def work(label: str) -> str:
        ran[label] += 1
        return label

    async def flaky(ask: Ask, ctx: bp.Context) -> Reply:
        first = await ctx.step("first", work, "first")
        work("between")
        if ctx.attempt < 3:
            raise ConnectionError(f"no luck at attempt {ctx.attempt}")
        return Reply(text=f"{first} at {ctx.attempt}")

    async with serving(only(flaky), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "first at 3"
        retried = [event.data async for event in coordinator.events(job=job.id) if event.type.endswith("retrying")]
        assert [(data["attempt"], data["error"]) for data in retried] == [
            (2, "ConnectionError: no luck at attempt 1"),
            (3, "ConnectionError: no luck at attempt 2"),
        ]
        assert (await job.info()).error is None
    assert ran == {"first": 1, "between": 3}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("retries", [1, 2])
async def test_a_job_whose_attempts_are_used_up_is_failed(retries: int, store_url: str) -> None:
    def hopeless(ask: Ask) -> Reply:
        raise ValueError("no way")

    async with serving(only(hopeless, retries=retries), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        said = r"failed at agent 'a', hop 0 \(attempts\): ValueError: no way"
        with pytest.raises(bp.JobFailed, match=said) as caught:
            await job.result(timeout=30)
        failed = caught.value
        assert (failed.job_id, failed.reason, failed.error) == (job.id, "attempts", "ValueError: no way")
        info = await job.info()
        assert (info.state, info.attempt, info.error) == (bp.JobState.FAILED, retries, "ValueError: no way")
        assert (await kinds(coordinator, job)).count("job.started") == retries


@pytest.mark.parametrize(("attempt", "shortest", "longest"), [(1, 0.5, 1.5), (2, 1, 3), (3, 2, 6), (20, 30, 90)])
def test_the_backoff_doubles_up_to_a_minute_with_jitter(attempt: int, shortest: float, longest: float) -> None:
    class Session:
        fence: Any = None

    session: Any = Session()
    session.attempt = attempt
    agent = only(print, retries=99)["a"]
    pauses = [outcomes.failing(agent, session, ValueError()).retry_in for _ in range(50)]
    assert all(pause is not None and shortest * 1000 <= pause <= longest * 1000 for pause in pauses)
    assert len(set(pauses)) > 10


async def test_a_retry_waits_in_the_store(store_url: str) -> None:
    """Not in the worker: its slot is free meanwhile, and the time survives it."""

    async def once(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.number == 0 and ctx.attempt == 1:
            raise OSError("first")
        return Reply(text=str(ask.number))

    async with serving(only(once), store_url, concurrency=1) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        info = await reached(job, bp.JobState.SUBMITTED, reason="retry_at")
        assert info.due_at is not None
        assert 0.4 <= (info.due_at - info.updated_at).total_seconds() <= 1.6
        assert info.lease is None
        assert (await (await coordinator.submit("a", Ask(number=1), returns=Reply)).result(timeout=20)).text == "1"
        assert (await job.result(timeout=20)).text == "0"
        assert (await job.info()).attempt == 2


@pytest.mark.parametrize("how", ["async", "sync", "step"])
async def test_the_timeout_ends_an_attempt(how: str) -> None:
    go_home = threading.Event()

    async def slow(ask: Ask) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    def slow_sync(ask: Ask) -> Reply:
        go_home.wait(30)
        return Reply(text="too late")

    async def slow_step(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("slow", slow_sync, ask)
        raise AssertionError

    agents: dict[str, Callable[..., Any]] = {"async": slow, "sync": slow_sync, "step": slow_step}
    try:
        async with serving(only(agents[how], timeout=0.2, retries=1)) as coordinator:
            job = await coordinator.submit("a", Ask())
            with anyio.fail_after(20), pytest.raises(bp.JobFailed, match=r"took longer than its timeout of 0\.2 s"):
                await job.result()
            assert (await job.info()).reason == "attempts"
            go_home.set()
    finally:
        go_home.set()


async def test_a_timeout_error_of_the_agents_own_keeps_its_words() -> None:
    def times_out(ask: Ask) -> Reply:
        raise TimeoutError("the API did not answer")

    async with serving(only(times_out, timeout=20, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match="TimeoutError: the API did not answer"):
            await job.result(timeout=20)
