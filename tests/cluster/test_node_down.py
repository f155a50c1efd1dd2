"""A node of a cluster is gone, and no replica takes over: what is in the other partitions goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import aclosing, nullcontext, suppress

import pytest
from anyio import create_task_group, fail_after, sleep

import batonpass as bp
from batonpass.contracts.names import mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.cluster import DEFAULT_PARTITIONS, ClusterStore
from batonpass.coordinator.urls import open_store
from batonpass.workers.keeper import LeaseKeeper
from batonpass.workers.upkeep import Alarm, keep_up
from tests.harness.bench import fence_of, new_job, new_target
from tests.harness.cluster import Cluster
from tests.harness.failover import frozen
from tests.harness.waiting import wait_until

LEASE = 4000  # ms: a worker's, if nothing else is said
JOBS = 40


def fits(cluster: Cluster, store: ClusterStore, job_id: str) -> bool:
    """Whether a job is on a node that stays."""
    return cluster.owner(store.prefix(partition_of(job_id) % DEFAULT_PARTITIONS)) is not cluster.primaries[2]


@pytest.fixture
def store(own_cluster: Cluster) -> Iterator[ClusterStore]:
    for node in own_cluster.nodes:
        node.ask("CONFIG SET", "cluster-require-full-coverage", "no")
    made = open_store(own_cluster.url)
    assert isinstance(made, ClusterStore)
    made.open()
    yield made
    made.close()


def claim(store: ClusterStore, number: int) -> list[c.Fence]:
    leases = tuple(f"l{at:023}" for at in range(number))
    return [fence_of(each) for each in store.call(c.Claim("w", ((new_target().queue, LEASE),), leases))]


@pytest.mark.timeout(120)
def test_leases_in_the_others_are_kept(own_cluster: Cluster, store: ClusterStore) -> None:
    for _ in range(JOBS):
        store.call(new_job())
    fences = claim(store, JOBS)
    staying = [fence for fence in fences if fits(own_cluster, store, fence.job_id)]
    assert 0 < len(staying) < JOBS
    keeper = LeaseKeeper(store.sibling(), LEASE)
    for fence in fences:
        keeper.hold(fence, LEASE, lambda lease, why: None)
    keeper.start()
    try:
        own_cluster.primaries[2].kill()
        end = time.monotonic() + 3 * LEASE / 1000
        while time.monotonic() < end:  # as any worker does: what has expired is given to others
            with suppress(bp.Unavailable):
                store.call(c.Reap())
        assert {store.call(c.ReadJob(fence.job_id)).token - fence.token for fence in staying} == {0}
        assert {store.call(c.ReadJob(fence.job_id)).state for fence in staying} == {"working"}
    finally:
        keeper.stop()


@pytest.mark.timeout(120)
async def test_leases_in_the_others_are_taken_back_from_dead_workers(own_cluster: Cluster, store: ClusterStore) -> None:
    """As long as one partition was away, no expired lease was taken back anywhere."""
    for _ in range(JOBS):
        store.call(new_job())
    staying = {fence.job_id for fence in claim(store, JOBS) if fits(own_cluster, store, fence.job_id)}
    own_cluster.primaries[2].kill()
    async with aclosing(store), create_task_group() as tasks:
        tasks.start_soon(keep_up, store, "w", (new_target().queue,), Alarm())
        with fail_after(30):
            while {await state(store, job) for job in staying} != {"submitted"}:
                await sleep(0.05)
        tasks.cancel_scope.cancel()


async def state(store: ClusterStore, job: str) -> str:
    return (await store.acall(c.ReadJob(job))).state


@pytest.mark.timeout(120)
def test_deliveries_in_the_others_are_claimed_soon(own_cluster: Cluster, store: ClusterStore) -> None:
    jobs = [store.call(new_job()).id for _ in range(JOBS)]
    staying = {job for job in jobs if fits(own_cluster, store, job)}
    own_cluster.primaries[2].kill()
    began = time.monotonic()
    assert {fence.job_id for fence in claim(store, JOBS)} == staying
    assert time.monotonic() - began < 4


@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", ["killed", "silent"])
def test_the_others_can_be_opened(own_cluster: Cluster, store: ClusterStore, how: str) -> None:
    """A worker that is started meanwhile, or a request that connects, has work there. Nothing new is half made."""
    jobs = [store.call(new_job()).id for _ in range(JOBS)]
    staying = {job for job in jobs if fits(own_cluster, store, job)}
    gone = own_cluster.primaries[2]
    with frozen(gone) if how == "silent" else nullcontext():
        if how == "killed":
            gone.kill()
        later = open_store(own_cluster.url)
        assert isinstance(later, ClusterStore)
        began = time.monotonic()
        later.open()
        assert time.monotonic() - began < 8
        assert {fence.job_id for fence in claim(later, JOBS)} == staying
        later.close()
        with pytest.raises(bp.Unreachable):
            open_store(f"{own_cluster.url}?namespace=new").open()


@pytest.mark.timeout(120)
def test_heartbeats_find_the_node_that_takes_over_from_a_silent_one(own_cluster: Cluster, store: ClusterStore) -> None:
    for _ in range(JOBS):
        store.call(new_job())
    beat = c.Heartbeat(tuple((fence, 60_000) for fence in claim(store, JOBS)))
    keeps = store.sibling()
    try:
        keeps.call(beat)
        own_cluster.catch_up()  # or it takes over without the leases
        with frozen(own_cluster.primaries[0]):
            began = time.monotonic()
            assert not answered(keeps, beat)
            assert time.monotonic() - began < 2.5  # less than a node is usually given to answer
            (replica,) = own_cluster.replicas
            wait_until(lambda: replica.ask("INFO", "replication")["role"] == "master", what="no replica took over")
            wait_until(lambda: answered(keeps, beat), timeout=10, what="the heartbeats still go to the silent node")
    finally:
        keeps.close()


@pytest.mark.timeout(120)
async def test_a_silent_node_holds_up_nothing_in_the_others(own_cluster: Cluster, store: ClusterStore) -> None:
    """The client looks at the cluster anew when a node has failed. If it asks that one, everybody waited for it."""
    async with aclosing(store):
        fences = [await started(store) for _ in range(JOBS)]
        silent, others = own_cluster.primaries[0], own_cluster.primaries[1:]
        owners = {
            fence: own_cluster.owner(store.prefix(partition_of(fence.job_id) % DEFAULT_PARTITIONS)) for fence in fences
        }
        there = next(fence for fence, owner in owners.items() if owner is silent)
        staying = [fence for fence, owner in owners.items() if owner in others]
        took: list[float] = []
        own_cluster.catch_up()  # or it takes over without the job

        async def writes_there() -> None:
            with suppress(bp.Unavailable):
                await store.acall(c.Record(there, {"key": b"value"}))
            tasks.cancel_scope.cancel()

        with frozen(silent):
            async with create_task_group() as tasks:
                tasks.start_soon(writes_there)
                while True:
                    for fence in staying:
                        began = time.monotonic()
                        await store.acall(c.Record(fence, {"key": b"value"}))
                        took.append(time.monotonic() - began)
                        await sleep(0.01)
            began = time.monotonic()
            reaped = await store.acall(c.Reap(spared=()))
            assert time.monotonic() - began < 2.9  # less than a node is usually given to answer
        assert max(took) < 1.5
        assert set(reaped.away) == {
            at for at in range(DEFAULT_PARTITIONS) if own_cluster.owner(store.prefix(at)) is silent
        }


async def started(store: ClusterStore) -> c.Fence:
    job = await store.acall(new_job())
    [delivery] = await store.acall(c.Claim("w", ((job.queue, 60_000),), (mint("l"),)))
    return fence_of(delivery)


def answered(store: ClusterStore, beat: c.Heartbeat) -> bool:
    """Whether all leases were renewed."""
    with suppress(bp.Unavailable):
        return store.call(beat) == [""] * len(beat.leases)
    return False
