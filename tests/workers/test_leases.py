"""A lease is kept even while agent code blocks everything that it can block."""

from __future__ import annotations

from collections import Counter

import pytest

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import queue_of
from batonpass.workers import running
from batonpass.workers.children.settings import ChildSettings
from batonpass.workers.keeper import LeaseKeeper
from batonpass.workers.worker import Worker, in_background
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import Desk

LEASE, LONG = 0.75, 6
KINDS = ("blocks-loop", "blocks-thread", "computes")


@pytest.mark.timeout(240)
def test_heartbeats_go_on_under_blocking_code(desk: Desk) -> None:
    """Sync code, code that never yields the processor, and async code that blocks its loop, each for as long as six
    leases. One process claims them all at once; another worker stands by to take over."""
    agents, options = ",".join(KINDS), ("--lease", str(LEASE))
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = {kind: coordinator.submit(kind, Task(text=kind, seconds=LONG * LEASE)) for kind in KINDS}
        first = desk.serving(agents, *options)
        desk.serving(agents, *options)
        for kind, job in jobs.items():
            assert job.result(timeout=60).words == [kind], first.said()
            info = job.info()
            events = [event.type.removeprefix("batonpass.") for event in coordinator.events(job=job.id)]
            assert events == ["job.submitted", "job.started", "job.completed"], first.said()
            assert (info.attempt, info.hop) == (1, 0)
    assert desk.ran() == Counter(KINDS)


def test_the_lease_of_what_takes_too_long_is_given_up(sqlite_url: str) -> None:
    """For example when code blocks its loop, so that its timeout can't stop it: the keeper stops renewing the lease."""
    with bp.connect(sqlite_url, app=app) as coordinator:
        job = coordinator.submit("steps", Task())
        claim = c.Claim("w", ((queue_of("steps", contract_ref(Task)), 2000),), ("l" * 24,))
        [delivery] = coordinator.store.call(claim)
        keeper, told = LeaseKeeper(coordinator.store.sibling(), 2000), list[str]()
        fence = c.Fence(job.id, delivery.job.token, delivery.job.lease)
        keeper.hold(fence, 2000, lambda lease, status: told.append(status), most=5.0)
        keeper.start()
        try:
            first = job.info().lease
            wait_until(lambda: job.info().lease != first, what="a heartbeat")
            wait_until(lambda: coordinator.store.call(c.Reap()).moved, what="the end of the lease")
        finally:
            keeper.stop()
    assert told == ["lost"]


async def test_so_is_that_of_a_job_that_could_have_no_process_of_its_own(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SUSPECT", 0)
    monkeypatch.setattr(running, "WRITING", 0.5)
    began: list[int] = []

    async def blocks(task: Task) -> Done:
        began.append(1)
        if len(began) == 1:
            with bp.connect(sqlite_url) as other:
                wait_until(lambda: other.store.call(c.Reap()).moved, what="the end of the lease")
        return Done(words=["again"])

    one = bp.App("one")
    one.agent("a", accepts=Task, returns=Done, timeout=2.0, retries=1)(blocks)
    async with bp.connect(sqlite_url, app=one) as coordinator:
        job = await coordinator.submit("a", Task(), returns=Done)
        worker = Worker(one, coordinator, lease=0.4, children=ChildSettings("tests.nowhere:app", sqlite_url))
        try:
            async with in_background(worker):
                assert (await job.result(timeout=60)).words == ["again"]
        finally:
            await worker.close()
    assert len(began) == 2
