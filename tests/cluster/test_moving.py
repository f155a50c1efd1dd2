"""The cluster changes under a store: a slot moves to another node, a primary dies and its replica takes over."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from anyio import to_thread

import batonpass as bp
from batonpass.contracts.names import mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Topic
from tests.harness.bench import Bench, fence_of, new_job
from tests.harness.cluster import Cluster, ClusterHarness, Node
from tests.harness.waiting import wait_until


class Text(bp.Contract, name="cluster-tests.text"):
    text: str


app = bp.App("cluster-tests")


@app.agent("shout", accepts=Text, returns=Text)
async def shout(text: Text) -> Text:
    return Text(text=text.text.upper())


def move_slot(source: Node, target: Node, slot: int) -> None:
    """As `redis-cli --cluster reshard` does it."""
    target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
    source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target.id)
    while keys := source.ask("CLUSTER GETKEYSINSLOT", slot, 100):
        source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
    for node in (target, source):
        node.ask("CLUSTER SETSLOT", slot, "NODE", target.id)


def move(cluster: Cluster, key: str) -> None:
    """Have another node serve a key's slot."""
    source = cluster.owner(key)
    target = next(node for node in cluster.primaries if node is not source)
    with cluster.client() as client:
        move_slot(source, target, client.keyslot(key))
    wait_until(lambda: cluster.owner(key) is target, what="the nodes do not tell each other")


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_slot_moves_to_another_node(three_nodes: Cluster, side: str) -> None:
    """The doors' partition too: nobody notices."""
    harness = ClusterHarness(three_nodes)
    with Bench(harness, side=side) as bench:
        jobs = {bench.submit() for _ in range(20)}
        fences = {fence.job_id: fence for fence in map(fence_of, bench.claim(10))}
        store: Any = bench.store
        for partition in (0, partition_of(next(iter(fences))) % 16):
            move(three_nodes, store.prefix(partition))
        for job_id, fence in fences.items():
            bench.save(fence, "state", thread=job_id)
            bench.do(c.Complete(fence, b"result"))
        assert {row.id for row in bench.do(c.ListJobs(50))} == jobs
        assert {each.job.id for each in bench.claim(20)} == jobs - set(fences)
        at_the_doors = new_job()
        at_the_doors.job_id = at_the_doors.thread = mint("j", 0)
        assert bench.do(at_the_doors).state == "submitted"
        assert len(bench.claim()) == 1
    harness.close()


async def goes_on(coordinator: bp.Coordinator, cluster: Cluster) -> None:
    store: Any = coordinator.store
    watch = store.watch(Topic(subject="somebody"))
    await watch.aopen()
    link = store._link
    await link.aclose()  # as in a failover, the client has to ask where the nodes are ...
    seeds, link._seeds = link._seeds, [("127.0.0.1", 1)]  # ... and nobody says
    await watch.await_(0.01)
    await watch.await_(0.01)
    link._seeds = seeds
    await link.aclose()
    await watch.await_(0.01)
    assert sum(len(node.ask("CLIENT", "LIST", "TYPE", "pubsub").splitlines()) for node in cluster.primaries) == 1
    await watch.aclose()


def test_a_watch_goes_on_while_nobody_says_where_the_nodes_are(three_nodes: Cluster, cluster_url: str) -> None:
    async def attempt() -> None:
        async with bp.connect(cluster_url) as coordinator:
            await goes_on(coordinator, three_nodes)

    asyncio.run(attempt())
    gc.collect()  # a subscription that nobody closed shows here


async def ask_until_done(coordinator: bp.Coordinator, number: int) -> str:
    """Ask as a client does: the store may be unavailable for a while, and asking again is safe."""
    while True:
        try:
            job = await coordinator.submit("shout", Text(text=f"job {number}"), key=str(number), returns=Text)
            return (await job.result(timeout=30)).text
        except bp.Unavailable:
            await asyncio.sleep(0.1)


def caught_up(primary: Node) -> None:
    """Wait until its replica has what it has now. What it writes later may get lost with it."""
    with primary.client() as client:
        written = client.info("replication")["master_repl_offset"]
        wait_until(lambda: client.info("replication")["slave0"]["offset"] >= written, what="the replica")


async def through_a_failover(cluster: Cluster) -> None:
    async with bp.connect(cluster.url, app=app) as coordinator, app.worker(coordinator), asyncio.timeout(50):
        assert await ask_until_done(coordinator, 0) == "JOB 0"
        lost = cluster.primaries[0]
        await to_thread.run_sync(caught_up, lost)
        lost.kill()
        answers = await asyncio.gather(*(ask_until_done(coordinator, number) for number in range(1, 60)))
        assert answers == [f"JOB {number}" for number in range(1, 60)]
        assert len(await coordinator.jobs(state="completed", limit=100)) >= 59
    assert int(cluster.owner("bp:{default:0}:").port) != lost.port


@pytest.mark.timeout(90)
@pytest.mark.filterwarnings("ignore:.*went back in time:batonpass.coordinator.safety.UnsafeStore")
def test_jobs_go_on_when_a_replica_takes_over(own_cluster: Cluster) -> None:
    """Its primary was killed. The jobs of the others never stop for long."""
    asyncio.run(through_a_failover(own_cluster))
    gc.collect()  # a connection that nobody closed shows here
