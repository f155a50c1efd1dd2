"""What keeps failing is logged once, and once more when it is over, not at each of ten attempts a second."""

from __future__ import annotations

import logging
import re
from typing import Any, cast

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.commands import Fence
from batonpass.coordinator.store import Store
from batonpass.workers.keeper import LeaseKeeper
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

from .serving import DEADLINE, Ask, Reply, kinds, only, reached, serving


class FullStore:
    """Fails a few times."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.calls, self._failures = 0, failures
        self.error = error or bp.Overloaded("no space left")

    def call(self, command: Any) -> list[str]:
        self.calls += 1
        if self.calls <= self._failures:
            raise self.error
        return ["" for _ in command.leases]

    def close(self) -> None: ...


def test_heartbeats_that_fail_do_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="batonpass.worker")
    store = FullStore(failures=5)
    keeper = LeaseKeeper(cast(Store, store), shortest=40)
    keeper.hold(Fence("j1", 1, "l1"), 60_000, lambda lease, why: None)
    keeper.start()
    wait_until(lambda: store.calls > 6, what="the heartbeat is not tried again")
    keeper.stop()
    begun, over = [record.getMessage() for record in caplog.records]
    assert begun == "heartbeat failed, trying again: no space left"
    assert re.fullmatch(r"heartbeat failed for \d+\.\d s: that is over", over)


def test_heartbeats_go_on_whatever_goes_wrong_with_one(caplog: pytest.LogCaptureFixture) -> None:
    """Only the thread that makes them keeps this worker's leases."""
    store = FullStore(failures=1, error=RuntimeError("a mistake of a library"))
    keeper = LeaseKeeper(cast(Store, store), shortest=40)
    keeper.hold(Fence("j1", 1, "l1"), 60_000, lambda lease, why: None)
    keeper.start()
    wait_until(lambda: store.calls > 2, timeout=30, what="there is no heartbeat any more")
    keeper.stop()
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is store.error


async def test_agents_that_wait_for_a_full_server_say_so(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A full server still takes heartbeats, so workers would wait without a word."""

    full, begun = anyio.Event(), list[str]()

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        begun.append(ctx.job_id)
        await full.wait()
        return Reply(text=await ctx.step("step", lambda: ask.text))

    with own_redis.client() as admin:
        async with serving(only(work), own_redis.url) as coordinator:
            jobs = [await coordinator.submit("a", Ask(text="tea"), returns=Reply) for _ in range(3)]
            with anyio.fail_after(DEADLINE):
                while len(begun) < len(jobs):
                    await anyio.sleep(0.005)
                admin.config_set("maxmemory", 1)
                full.set()
                while not (said := [each.getMessage() for each in caplog.records if "writes" in each.getMessage()]):
                    await anyio.sleep(0.005)
                admin.config_set("maxmemory", 0)
                assert [(await job.result()).text for job in jobs] == ["tea"] * 3
    [told] = said
    assert told.startswith("agents' writes fail, trying again: ")
    assert "is out of memory: nothing was written, raise its maxmemory or free some" in told


async def test_the_log_says_when_agents_writes_recover_and_when_they_fail_again(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A full server accepts ends. That other jobs end meanwhile does not mean that it is over: one still waits."""
    caplog.set_level(logging.INFO, logger="batonpass.worker")

    def said() -> list[str]:
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if text.startswith("agents' writes fail")]

    async def told(number: int) -> None:
        with anyio.fail_after(DEADLINE):
            while len(said()) < number:
                await anyio.sleep(0.005)

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        if ask.text == "ends":
            await full.wait()
            return Reply(text="ended")
        for _ in range(2):
            admin.config_set("maxmemory", 1)
            await ctx.step("step", lambda: ask.text)
        return Reply(text=ask.text)

    full = anyio.Event()
    with own_redis.client() as admin:
        async with serving(only(work), own_redis.url) as coordinator:
            other = await coordinator.submit("a", Ask(text="ends"), returns=Reply)
            await reached(other, bp.JobState.WORKING)
            job = await coordinator.submit("a", Ask(text="tea"), returns=Reply)
            await told(1)
            full.set()
            assert (await other.result(timeout=DEADLINE)).text == "ended"
            assert len(said()) == 1
            admin.config_set("maxmemory", 0)
            await told(3)
            admin.config_set("maxmemory", 0)
            assert (await job.result(timeout=DEADLINE)).text == "tea"
    begun, over, again, last = said()
    assert "trying again" in begun
    assert again == begun
    assert over.endswith("that is over")
    assert last.endswith("that is over")


async def test_a_job_that_gave_up_leaves_the_next_trouble_to_be_told(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batonpass.workers.pauses.PATIENCE", 0.05)

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        admin.config_set("maxmemory", 1)
        return Reply(text=await ctx.step("step", lambda: ask.text))

    with own_redis.client() as admin:
        async with serving(only(work, lease=1), own_redis.url) as coordinator:
            await coordinator.submit("a", Ask(text="tea"), returns=Reply)
            with anyio.fail_after(DEADLINE):
                for number in (1, 2):
                    while caplog.text.count("agents' writes fail") < number or caplog.text.count("gave it up") < number:
                        await anyio.sleep(0.005)
                    admin.config_set("maxmemory", 0)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can't write gives up soon, and tries again soon."""
    monkeypatch.setattr("batonpass.workers.pauses.PATIENCE", 0.05)
    monkeypatch.setattr("batonpass.workers.aside._FIRST", 0.05)
    monkeypatch.setattr("batonpass.workers.claiming._ASIDE_LOOK", 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("isolation", ["task", "process"])
async def test_a_job_that_gave_up_does_not_count_as_a_death(
    isolation: str, own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """After minutes with a full memory, it was parked as if it had killed ten workers."""

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=await ctx.step("step", lambda: ask.text * 1000))

    with own_redis.client() as admin:
        async with serving(only(work, lease=1, isolation=isolation), own_redis.url) as coordinator:
            job = await coordinator.submit("a", Ask(text="tea"), returns=Reply)
            admin.config_set("maxmemory", 1)
            with anyio.fail_after(DEADLINE):
                while caplog.text.count("gave it up") < 4:
                    await anyio.sleep(0.01)
            admin.config_set("maxmemory", 0)
            assert (await job.result(timeout=DEADLINE)).text == "tea" * 1000
            happened = await kinds(coordinator, job)
    assert not {"lease.expired", "job.crashed"} & set(happened)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", ["tasks", "fails"])
async def test_what_a_full_store_makes_of_an_agent_does_not_count_either(
    kind: str, own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Errors of several tasks come in a group, and an agent may fail with what it has spent unwritten."""

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        await go.wait()
        if kind == "fails" and full:
            ctx.spend(tokens=1)
            raise ValueError("boom")
        async with anyio.create_task_group() as tasks:
            for name in "ab":
                tasks.start_soon(ctx.step, name, lambda: ask.text * 1000)
        return Reply(text=ask.text)

    full, go = True, anyio.Event()
    with own_redis.client() as admin:
        async with serving(only(work, lease=1, retries=3), own_redis.url) as coordinator:
            job = await coordinator.submit("a", Ask(text="tea"), returns=Reply)
            admin.config_set("maxmemory", 1)
            go.set()
            with anyio.fail_after(DEADLINE):
                while caplog.text.count("gave it up") + caplog.text.count("failure was not written") < 4:
                    await anyio.sleep(0.01)
            full = False
            admin.config_set("maxmemory", 0)
            assert (await job.result(timeout=DEADLINE)).text == "tea"
            happened = await kinds(coordinator, job)
    assert not {"lease.expired", "job.crashed"} & set(happened)
    assert happened.count("job.retrying") <= 1  # one that failed while the store was full, and was written after


async def test_an_agent_that_is_refused_elsewhere_fails(store_url: str) -> None:
    """Back-pressure that its own code meets is an error as any other: it is retried, and ends the job."""
    app, busy = bp.App("two"), bp.App("busy")

    @busy.agent("busy", accepts=Ask, returns=Reply, max_waiting=1)
    async def never(ask: Ask) -> Reply:
        raise AssertionError("no worker runs it")

    @app.agent("a", accepts=Ask, returns=Reply, retries=bp.Retry(attempts=2, first=0.01))
    async def work(ask: Ask) -> Reply:
        async with bp.connect(store_url, app=busy) as coordinator:
            await coordinator.submit("busy", Ask())
            await coordinator.submit("busy", Ask())
        raise AssertionError("its queue is full")

    async with serving(app, store_url) as coordinator:
        await coordinator.declare(busy)
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="all that max_waiting allows"):
            await job.result(timeout=DEADLINE)
        assert (await job.info()).attempt == 2


@pytest.mark.usefixtures("impatient")
async def test_a_store_that_is_busy_when_an_agent_reads_is_no_fault_of_the_agent(store_url: str) -> None:
    """As one that loads its data after a restart."""
    tries = 0

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise bp.Overloaded("the server can't write now: LOADING")
        return Reply(text=str(ctx.attempt))

    async with serving(only(work, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "1"


@pytest.mark.usefixtures("impatient")
async def test_an_agent_that_always_meets_a_busy_store_ends(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not be run, and paid, for ever. What each of its runs spent is kept, too."""
    monkeypatch.setattr("batonpass.workers.leaving._LEAVES", 3)
    tries = 0

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        nonlocal tries
        tries += 1
        ctx.spend(tokens=10)
        raise bp.Unreachable("the archive is away")

    async with serving(only(work, retries=bp.Retry(attempts=2, first=0.01)), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        with pytest.raises(bp.JobFailed, match="the archive is away"):
            await job.result(timeout=DEADLINE)
        info = await job.info()
    assert (tries, info.attempt, info.spent.tokens) == (8, 2, 80)
