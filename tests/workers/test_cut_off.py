"""If a worker can't reach the store, that is not its jobs' fault: it does not count as a death. A freeze does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store
from batonpass.workers.keeper import LeaseKeeper
from tests.harness.proxy import Proxy
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import DEADLINE, Desk
from .serving import Ask, Reply, kinds, only

LEASE = ("--lease", "2")


@pytest.fixture
def desk(own_redis: RedisServer, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(own_redis.url, tmp_path)
    yield made
    made.close()


def taken_over(desk: Desk, times: int) -> None:
    wait_until(lambda: desk.ran()["a:two"] > times, timeout=DEADLINE, what="the takeover")


def runs_out(job: bp.SyncJob[Done]) -> datetime:
    lease = job.info().lease
    assert lease
    return lease.expires_at


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["steps", "sync"])
def test_a_worker_that_alone_is_cut_off_has_not_died(desk: Desk, own_redis: RedisServer, agent: str) -> None:
    """The worker that has the job is cut off and the other one takes over, again and again."""
    with Proxy(own_redis.port) as one, Proxy(own_redis.port) as other, bp.connect(desk.url, app=app) as coordinator:
        for proxy in (one, other):
            desk.serving(agent, "--store", f"redis://127.0.0.1:{proxy.port}", *LEASE)
        job = coordinator.submit(agent, Task(text="a"), returns=Done)
        proxies = {worker.pid: proxy for worker, proxy in zip(desk.workers, (one, other), strict=True)}
        for times in (1, 2):
            desk.wait_for("a:two")
            proxy = proxies[desk.lines()[-1][0]]
            proxy.cut()
            taken_over(desk, times)
            assert job.info().crashes == 1
            proxy.mend()
            wait_until(lambda: not job.info().crashes, timeout=DEADLINE, what="its return")
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        assert job.info().crashes == 0


@pytest.mark.timeout(240)
def test_one_that_was_frozen_counts_as_dead(desk: Desk) -> None:
    """The job may be what froze it. It is frozen just after a heartbeat, since one that is frozen in the middle of a
    heartbeat can't know that: it has tried to renew its lease in time, and no answer came."""
    with bp.connect(desk.url, app=app) as coordinator:
        frozen = desk.serving("steps", *LEASE)
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        desk.serving("steps", *LEASE)
        until = runs_out(job)
        wait_until(lambda: runs_out(job) != until, timeout=DEADLINE, what="a heartbeat")
        frozen.send(signal.SIGSTOP)
        taken_over(desk, 1)
        frozen.send(signal.SIGCONT)
        frozen.wait_for("stopped, the lease")
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        assert job.info().crashes == 1


@pytest.mark.timeout(120)
async def test_who_gave_up_while_the_store_was_away_gives_the_job_back(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The lease outlasts the outage, however long a busy machine takes to start a server."""
    monkeypatch.setattr("batonpass.workers.pauses.PATIENCE", 2.0)
    monkeypatch.setattr("batonpass.workers.keeper._PAUSE", 0.5)
    began: list[int] = []

    async def work(ask: Ask, ctx: bp.Context) -> Reply:
        began.append(1)
        if len(began) == 1:
            await anyio.to_thread.run_sync(own_redis.kill)
        return Reply(text=await ctx.step("one", str, ask.text))

    served = only(work, lease=30)
    async with bp.connect(own_redis.url, app=served) as coordinator, served.worker(coordinator):
        job = await coordinator.submit("a", Ask(text="1"), returns=Reply)
        with anyio.fail_after(DEADLINE):
            while "given up" not in caplog.text:
                await anyio.sleep(0.01)
        await anyio.to_thread.run_sync(own_redis.start)
        assert (await job.result(timeout=DEADLINE)).text == "1"
        assert (await job.info()).crashes == 0
        happened = [kind for kind in await kinds(coordinator, job) if kind != "checkpoint.saved"]
    assert happened == ["job.submitted", "job.started", "job.released", "job.started", "job.completed"]


class AwayStore:
    """Renews so many times, then fails so many times; after that others have the job."""

    def __init__(self, renewals: int, failures: int) -> None:
        self.heard: list[c.Command[Any]] = []
        self._renewals, self._failures = renewals, failures

    def call(self, command: c.Command[Any]) -> Any:
        self._renewals -= 1
        if self._renewals >= 0:
            return [""]
        self._failures -= 1
        if self._failures >= 0:
            raise bp.Unreachable("no route")
        self.heard.append(command)
        return ["lost"] if isinstance(command, c.Heartbeat) else None

    def close(self) -> None: ...


@pytest.mark.parametrize("renewals", [0, 2])
@pytest.mark.parametrize("failures", [0, 3])
@pytest.mark.parametrize("in_time", [True, False])
def test_who_was_cut_off_has_tried_to_renew_its_lease_in_time(
    in_time: bool, failures: int, renewals: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Also within one call, which retries by itself. A worker that was frozen has not tried. The log says that the
    store was away only if it was."""
    caplog.set_level("INFO")
    store, told = AwayStore(renewals, failures), list[str]()
    keeper, fence = LeaseKeeper(cast(Store, store), shortest=40), c.Fence("j1", 1, "l1")
    keeper.hold(fence, 60_000 if in_time else 0, lambda lease, status: told.append(status))
    keeper.start()
    wait_until(lambda: told, what="the heartbeat that gets through")
    keeper.stop()
    assert store.heard[1:] == ([c.Release(fence, cut_off=True)] if in_time else [])
    why = "the store could not be reached" if failures else "its heartbeat was answered too late"
    assert (f"job j1: given back, as {why}" in caplog.text) == in_time


class FullStore(AwayStore):
    """Takes a heartbeat for no lease. Refuses the first releases."""

    def call(self, command: c.Command[Any]) -> Any:
        if command == c.Heartbeat(()):
            return []
        return super().call(command)


def test_trouble_on_a_full_disk_is_not_told_again_with_every_try(caplog: pytest.LogCaptureFixture) -> None:
    """The job is given up, but can't be given back."""
    caplog.set_level("INFO")
    store, fence = FullStore(0, failures=6), c.Fence("j1", 1, "l1")
    keeper = LeaseKeeper(cast(Store, store), shortest=40)
    keeper.hold(fence, 60_000, lambda lease, status: None)
    keeper.start()
    wait_until(lambda: "heartbeat failed" in caplog.text, what="the first failure")
    keeper.drop(fence.lease_id)
    wait_until(lambda: "given back" in caplog.text, what="the release that gets through")
    keeper.stop()
    told = [record.getMessage() for record in caplog.records]
    assert len([text for text in told if text.startswith("heartbeat failed, trying again")]) == 1
    assert len([text for text in told if text.endswith("that is over")]) == 1
