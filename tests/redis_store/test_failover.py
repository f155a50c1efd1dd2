"""Sentinel: the master dies in the middle of the work, and the replica goes on with what it has."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.safety import UnsafeStore
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import MINUTE, fence_of, new_checkpoint, new_job, new_target
from tests.harness.failover import SERVICE, Failover, failover, frozen
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.workers.serving import Ask, Reply, only

pytestmark = pytest.mark.capability("redis-sentinel")
# One test is about what the store says when it has noticed a loss. In the others, that is no error.
quiet = pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
QUEUE = (new_target().queue, MINUTE)


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[Failover]:
    with failover(tmp_path) as made:
        yield made


@pytest.fixture
def store(trio: Failover) -> Iterator[Store]:
    made = open_store(trio.url)
    made.open()
    yield made
    made.close()


@quiet
async def test_jobs_go_on(trio: Failover, tmp_path: Path) -> None:
    """A worker and a client at work live through it, without a new handle. Nothing is doubled."""
    begun: Counter[str] = Counter()

    async def work(ask: Ask) -> Reply:
        begun[ask.text] += 1
        await anyio.sleep(0.02)
        return Reply(text=ask.text)

    app = only(work, lease=2.0)  # a claim whose reply the failover ate comes back soon
    async with bp.connect(trio.url, app=app) as coordinator:
        jobs = [await coordinator.submit("a", Ask(text=str(number)), returns=Reply) for number in range(40)]
        trio.settle()
        async with app.worker(coordinator, concurrency=2):
            with anyio.fail_after(40):
                await jobs[5].result()
                await anyio.to_thread.run_sync(trio.kill_master)
                for number, job in enumerate(jobs):
                    assert (await job.result()).text == str(number)
                after = await coordinator.submit("a", Ask(text="after"), returns=Reply)
                assert (await after.result()).text == "after"
        ends = Counter([event.subject async for event in coordinator.events() if event.type.endswith(".completed")])
    assert set(ends.values()) == {1}
    assert len(ends) == 41
    # Only what was running when the master died, or was not on the replica yet, may have run again.
    assert sum(begun.values()) - len(begun) <= 8


def test_what_was_not_replicated_is_lost_and_said(
    trio: Failover, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    kept = store.call(new_job()).id
    [delivery] = store.call(c.Claim("w", (QUEUE,), ("lease-0",)))
    store.call(c.Save(kept, new_checkpoint("kept", thread=kept), fence_of(delivery)))
    waiting = store.call(new_job()).id
    trio.settle()
    trio.cut()
    store.call(c.Save(kept, new_checkpoint("lost", thread=kept), fence_of(delivery)))
    lost = store.call(new_job()).id
    [ahead] = store.call(c.Claim("w", (QUEUE,), ("lease-1",)))
    assert ahead.job.id == waiting
    store.call(c.LastEvent())
    other = open_store(trio.url)
    other.open()
    trio.kill_master()
    for handle in (store, other):  # both notice, by themselves
        with pytest.warns(UnsafeStore, match="went back in time: event [0-9]+-[0-9]+, which it had, is gone") as said:
            wait_until(partial(said_so, handle, said))
    assert not caplog.records  # a warning is shown, and logged by a worker: nobody is told twice
    with pytest.raises(bp.NotFound, match=lost):
        store.call(c.ReadJob(lost))
    with pytest.raises(bp.Fenced):
        store.call(c.Save(waiting, new_checkpoint(thread=waiting), fence_of(ahead)))
    told = [row.fields["type"] for row in store.call(c.Events(limit=500)) if row.fields]
    assert told.count("batonpass.store.rewound") == 1
    # The lease that was replicated holds, and its job goes on from what is there.
    store.call(c.Complete(fence_of(delivery), b"result"))
    assert store.call(c.ReadJob(kept)).state == "completed"
    [again] = store.call(c.Claim("w", (QUEUE,), ("lease-2",)))
    assert (again.job.id, again.job.token > ahead.job.token) == (waiting, True)
    other.close()


def said_so(store: Store, said: pytest.WarningsRecorder) -> bool:
    """Whether a warning has come, after one more look at the store."""
    store.call(c.LastEvent())
    return len(said) > 0


def test_confirmed_writes_survive(trio: Failover) -> None:
    """With ?replicas=1, nothing that was acknowledged is lost, because nothing is acknowledged before a replica has
    it."""
    store = open_store(f"{trio.url}?replicas=1")
    store.open()
    confirmed: list[str] = []
    unconfirmed: list[str] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            command = new_job()
            try:
                confirmed.append(store.call(command).id)
            except bp.Unconfirmed:
                unconfirmed.append(command.job_id)
            except bp.Unavailable:
                return

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(lambda: len(confirmed) > 50)
    trio.cut()
    wait_until(lambda: len(unconfirmed) > 1)
    trio.kill_master()
    stop.set()
    writer.join()
    store.close()
    with trio.replica.client() as replica:
        left = {key.decode().rpartition(":")[2] for key in replica.scan_iter(match="*:j:*", count=1000)}
    assert set(confirmed) <= left
    assert set(unconfirmed) - left, "nothing was lost: this proves nothing"


def test_a_planned_failover_loses_nothing(trio: Failover) -> None:
    """By the recipe in the docs: clients that are connected, and write all the time."""
    acknowledged: list[str] = []
    stop = threading.Event()

    def write() -> None:
        store = open_store(trio.url)
        store.open()
        while not stop.is_set():
            acknowledged.append(store.call(new_job()).id)
        store.close()

    def begun(sentinel: redis.Redis) -> bool:
        try:
            sentinel.execute_command("SENTINEL FAILOVER", SERVICE)
        except redis.ResponseError as error:  # it has not heard from the replica for a moment
            if "NOGOODSLAVE" not in str(error):
                raise
            return False
        return True

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    wait_until(lambda: len(acknowledged) > 30)
    with trio.master.client() as master, trio.sentinel.client() as sentinel:
        master.execute_command("CLIENT PAUSE 60000 WRITE")
        before = len(acknowledged)
        wait_until(lambda: begun(sentinel), what="the Sentinel does not begin")
        there = trio.replica.port
        wait_until(lambda: sentinel.sentinel_get_master_addr_by_name(SERVICE)[1] == there, what="the failover")
        master.shutdown(nosave=True)
    wait_until(lambda: len(acknowledged) > before + 30, what="the new master is not used")
    stop.set()
    for writer in writers:
        writer.join()
    with trio.replica.client() as replica:
        left = {key.decode().rpartition(":")[2] for key in replica.scan_iter(match="*:j:*", count=1000)}
    assert set(acknowledged) <= left


def test_a_retry_waits_again(trio: Failover) -> None:
    """The same command answers with the first result, and is confirmed again, whatever connection it comes by."""
    url = f"{trio.url}?replicas=1"
    store = open_store(url)
    store.open()
    job = new_job(key="k")
    with frozen(trio.replica):
        for handle in (store, open_store(url)):
            with pytest.raises(bp.Unconfirmed, match=r"0 of 1 replica\(s\) confirmed within 1 s.*repeat the call"):
                handle.call(job)
            with pytest.raises(bp.Unconfirmed):
                asyncio.run(once(url, job))
    assert store.call(job).id == job.job_id
    assert len(store.call(c.ListJobs())) == 1
    assert asyncio.run(once(url, job)) == job.job_id
    store.close()


async def once(url: str, job: c.Submit) -> str:
    store = open_store(url)
    try:
        return (await store.acall(job)).id
    finally:
        await store.aclose()


def test_a_refusal_is_a_refusal_without_replicas(trio: Failover) -> None:
    store = open_store(f"{trio.url}?replicas=1")
    store.open()
    with frozen(trio.replica), pytest.raises(bp.NotFound):
        store.call(c.Cancel("j" * 24))
    store.close()


def test_reads_and_leases_do_not_wait_for_replicas(trio: Failover) -> None:
    store = open_store(f"{trio.url}?replicas=1")
    store.open()
    job_id = store.call(new_job()).id
    with frozen(trio.replica):
        [delivery] = store.call(c.Claim("w", (QUEUE,), ("lease",)))
        assert store.call(c.Heartbeat(((fence_of(delivery), MINUTE),))) == [""]
        assert store.call(c.ReadJob(job_id)).state == "working"
    store.close()


def test_replicas_that_are_not_there(trio: Failover) -> None:
    with pytest.raises(bp.BadSetup, match=r"has 1 replica\(s\), but \?replicas=2 asks that many"):
        bp.connect(f"{trio.url}?replicas=2").open()


def test_as_many_replicas_confirm_as_are_asked_for(trio: Failover, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = RedisServer(tmp_path / "second")
    second.start()
    try:
        trio.attach(second)
        with trio.master.client() as master:
            wait_until(lambda: master.wait(2, 100) == 2, what="the second replica does not follow")
        store = open_store(f"{trio.url}?replicas=2")
        assert store.call(job := new_job()).id == job.job_id
        with frozen(second), pytest.raises(bp.Unconfirmed, match=r"1 of 2 replica\(s\) confirmed"):
            store.call(new_job())
        store.close()
        assert told_of_replicas(f"{trio.url}?replicas=2") == []
        assert told_of_replicas(trio.url) == []  # the server says what a failover may lose then
        [text] = told_of_replicas(f"{trio.url}?replicas=1")
        assert "each write is confirmed by 1 of 2 replicas, and a failover may promote another one" in text
        assert "?replicas=2" in text
    finally:
        second.close()


def told_of_replicas(url: str) -> list[str]:
    """What `batonpass doctor` warns of."""
    store: Any = open_store(url)
    findings = store.examine().findings
    store.close()
    return [each.text for each in findings if (each.level, each.about) == ("warn", "replicas")]


def test_no_sentinel_and_no_such_service(trio: Failover) -> None:
    with pytest.raises(
        bp.Unreachable, match=r"no Redis at redis\+sentinel://.*/nosuch: No master found for 'nosuch': its"
    ):
        bp.connect(trio.url.replace("/desk", "/nosuch")).open()


def test_a_replica_is_said_to_be_one(trio: Failover) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        store = open_store(trio.replica.url)
        with pytest.raises(bp.Overloaded, match="can't write now"):
            store.open()
        store.close()
    assert not said
