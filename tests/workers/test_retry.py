"""An attempt that raises, or takes too long, is tried again with backoff; then the job fails with its reason."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers import claiming, upkeep

from .serving import Ask, Reply, kinds, only, reached, serving


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without the wait."""
    monkeypatch.setattr(bp.Retry, "pause", lambda *_: 0.01)


@pytest.mark.usefixtures("soon")
async def test_an_agent_that_raises_is_tried_again_and_keeps_its_steps(store_url: str) -> None:
    ran: Counter[str] = Counter()
    told: list[str | None] = []

    def work(label: str) -> str:
        ran[label] += 1
        return label

    async def flaky(ask: Ask, ctx: bp.Context) -> Reply:
        told.append(ctx.last_error)
        first = await ctx.step("first", work, "first")
        work("between")
        if ctx.attempt < 3:
            raise ConnectionError(f"no luck at attempt {ctx.attempt}")
        return Reply(text=f"{first} at {ctx.attempt}")

    async with serving(only(flaky), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "first at 3"
        retried = [event.data async for event in coordinator.events(job=job.id) if event.type.endswith("retrying")]
        assert [(data["attempt"], data["error"].partition(" (")[0]) for data in retried] == [
            (2, "ConnectionError: no luck at attempt 1"),
            (3, "ConnectionError: no luck at attempt 2"),
        ]
        assert (await job.info()).error is None
    assert ran == {"first": 1, "between": 3}
    assert told[0] is None
    assert [error.partition(" (")[0] for error in told[1:] if error] == [
        *("ConnectionError: no luck at attempt 1", "ConnectionError: no luck at attempt 2"),
    ]


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
        assert (failed.job_id, failed.reason) == (job.id, "attempts")
        info = await job.info()
        assert (info.state, info.attempt, info.error) == (bp.JobState.FAILED, retries, failed.error)
        assert (await kinds(coordinator, job)).count("job.started") == retries


async def test_a_retry_waits_in_the_store(store_url: str) -> None:
    """It does not wait in the worker: the slot is free meanwhile, and the time survives the worker."""

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
    late: list[str] = []

    async def slow(ask: Ask) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    def slow_sync(ask: Ask, ctx: bp.SyncContext | None = None) -> Reply:
        go_home.wait(30)
        try:
            if ctx is not None:
                ctx.step("late", late.append, "ran")
        except bp.Fenced:
            late.append("refused")
        return Reply(text="too late")

    async def slow_step(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("slow", slow_sync, ask)
        raise AssertionError

    agents: dict[str, Callable[..., Any]] = {"async": slow, "sync": slow_sync, "step": slow_step}
    try:
        async with serving(only(agents[how], timeout=3.0, retries=1)) as coordinator:
            job = await coordinator.submit("a", Ask())
            with anyio.fail_after(20), pytest.raises(bp.JobFailed, match="took longer than its timeout of 3 s"):
                await job.result()
            assert (await job.info()).reason == "attempts"
            go_home.set()
            with anyio.fail_after(20):
                while how == "sync" and not late:
                    await anyio.sleep(0.005)
            assert late == (["refused"] if how == "sync" else [])
    finally:
        go_home.set()


async def test_a_timeout_error_of_the_agents_own_keeps_its_words() -> None:
    def times_out(ask: Ask) -> Reply:
        raise TimeoutError("the API did not answer")

    async with serving(only(times_out, timeout=20, retries=1)) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed, match="TimeoutError: the API did not answer"):
            await job.result(timeout=20)


class Busy(Exception):
    """A model's client may raise one."""


async def _failed(agent: Callable[..., Any], url: str = "memory://", **options: Any) -> tuple[str, int]:
    """Why the agent's job failed, and after how many attempts."""
    async with serving(only(agent, **options), url) as coordinator:
        job = await coordinator.submit("a", Ask())
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
        info = await job.info()
    return info.reason, info.attempt


@pytest.mark.parametrize(
    ("retries", "ended"),
    [
        (bp.Retry(attempts=2, on="Busy", first=0.01), ("attempts", 2)),
        (bp.Retry(attempts=4, on=(TimeoutError, "openai.RateLimitError"), first=0.01), ("permanent", 1)),
        (bp.Retry(attempts=4, never=Busy, first=0.01), ("permanent", 1)),
        ([bp.Retry(attempts=2, on=Busy, first=0.01), bp.Retry(attempts=4)], ("attempts", 2)),
        (bp.Retry(attempts=4, first=50, jitter=0, within=10), ("out_of_time", 1)),
    ],
)
async def test_the_error_decides(retries: bp.Retry | list[bp.Retry], ended: tuple[str, int]) -> None:
    async def busy(ask: Ask) -> Reply:
        raise RuntimeError("the framework says") from Busy("too many")

    assert await _failed(busy, retries=retries) == ended


async def test_time_runs_from_the_first_failure_and_over_attempts(store_url: str) -> None:
    def busy(ask: Ask) -> Reply:
        raise Busy("too many")

    reason, attempts = await _failed(
        busy, store_url, retries=bp.Retry(attempts=99, first=0.2, factor=1, jitter=0, within=0.5)
    )
    assert reason == "out_of_time"
    assert attempts in (2, 3)  # a wake-up may come late, never early


async def test_the_next_hop_has_its_own_time_and_attempts(store_url: str) -> None:
    app = bp.App("two")
    patient = bp.Retry(attempts=2, first=0.01, within=0.5)
    seen: list[tuple[str, int, str | None]] = []

    @app.agent("a", accepts=Ask, hands_to={"b": Ask}, retries=patient)
    async def a(ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask]:
        if ctx.attempt == 1:
            raise Busy("a")
        await anyio.sleep(0.6)
        return ctx.hand_off("b", ask)

    @app.agent("b", accepts=Ask, returns=Reply, retries=patient)
    async def b(ask: Ask, ctx: bp.Context) -> Reply:
        seen.append((ctx.agent, ctx.attempt, ctx.last_error))
        if ctx.attempt == 1:
            raise Busy("b")
        return Reply(text="done")

    async with serving(app, store_url) as coordinator:
        await (await coordinator.submit("a", Ask(), returns=Reply)).result(timeout=30)
    [first, (*again, error)] = seen
    assert (first, again, (error or "").partition(" (")[0]) == (("b", 1, None), ["b", 2], "Busy: b")


async def test_an_agent_says_when_to_come_back(store_url: str) -> None:
    def later(ask: Ask, ctx: bp.SyncContext) -> Reply:
        if ctx.attempt == 1:
            raise bp.RetryLater(3600, "the shop opens at nine")
        return Reply(text="")

    async with serving(only(later), store_url) as coordinator:
        job = await coordinator.submit("a", Ask())
        info = await reached(job, bp.JobState.SUBMITTED, reason="retry_at")
        assert info.due_at is not None
        assert 3600 <= (info.due_at - info.updated_at).total_seconds() <= 3600 * 1.1 + 1
        assert info.error == "the shop opens at nine"


async def test_the_fallback_takes_over_from_errors_that_are_not_tried_again() -> None:
    app = bp.App("two")

    @app.agent("a", accepts=Ask, returns=Reply, retries=bp.Retry(never=Busy), fallback="b")
    def a(ask: Ask) -> Reply:
        raise Busy("too many")

    @app.agent("b", accepts=Ask, returns=Reply)
    def b(ask: Ask) -> Reply:
        return Reply(text="b did it")

    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=30)).text == "b did it"


@pytest.mark.each_store
async def test_what_is_due_soon_does_not_wait_for_the_next_round_of_upkeep(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retries, and jobs that others submit for a later time: an idle worker is told of them."""
    monkeypatch.setattr(upkeep, "_PAUSE", 300.0)
    monkeypatch.setattr(claiming, "_LOOK", 300.0)
    for url in (store_url, "memory://"):
        app = only(fails_twice(), retries=bp.Retry(attempts=3, first=0.05), lease=300)
        async with serving(app, url) as coordinator:
            for delay in (0, 0.2):
                job = await coordinator.submit("a", Ask(), returns=Reply, delay=delay)
                assert (await job.result(timeout=30)).text == "3"


def fails_twice() -> Any:
    async def fails(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt < 3:
            raise Busy("too many")
        return Reply(text=str(ctx.attempt))

    return fails


async def test_the_log_says_that_an_attempt_follows_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async def flaky(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            raise bp.RetryLater(0, "not yet")
        return Reply(text="there")

    async with serving(only(flaky), "memory://") as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await job.result(timeout=30)
    [line] = [record.getMessage() for record in caplog.records if "not yet" in record.getMessage()]
    assert line.endswith("again in 0.0 s")
