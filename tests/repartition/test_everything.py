"""A namespace with everything in it goes to a cluster, then to more partitions: all of it is there, and goes on."""

from __future__ import annotations

import pytest

from batonpass.contracts.names import digest, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.cluster import ClusterStore
from batonpass.coordinator.redis.moving.move import Move
from tests.harness.bench import MINUTE, Bench, fence_of, new_job, new_target
from tests.harness.cluster import Cluster, ClusterHarness
from tests.harness.keyspace import Keyspace
from tests.harness.stores import RedisHarness
from tests.model.world import World, of_queue
from tests.repartition.full import answers, end_all, fill, leave

pytestmark = pytest.mark.usefixtures("quiet_witness")
_STEPS = 300
# Of jobs that live elsewhere than their keys.
KEYS = [f"key {n}" for n in range(8)]


def moved(source: str, harness: RedisHarness, cluster: Cluster, partitions: int) -> tuple[ClusterHarness, str]:
    """Move it to a namespace that a new harness will look into."""
    leave(harness)
    made = ClusterHarness(cluster, partitions=partitions)
    made.clock.now = harness.clock.now
    target = f"{cluster.url}?partitions={partitions}&namespace={made.own}new"
    move = Move(source, target)
    done = move.run()
    move.close()
    assert done.elements > 100
    return made, target


def problems(bench: Bench, harness: ClusterHarness) -> list[str]:
    """What is not as it must be in any partition. (The moves drop tips, and trim events, before.)"""
    store = bench.store
    assert isinstance(store, ClusterStore)
    spaces = [Keyspace(harness.server, store.prefix(at)) for at in range(harness.count)]
    found = [text for space in spaces for text in space.problems(events=False)]
    return [text for text in found if "would resume from" not in text]


def check(world: World, bench: Bench, harness: ClusterHarness, before: dict[str, object]) -> None:
    after = answers(world, bench)
    assert after.keys() == before.keys()
    assert {key: (value, after[key]) for key, value in before.items() if value != after[key]} == {}
    assert problems(bench, harness) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_all_is_there_and_goes_on(server: RedisHarness, three_nodes: Cluster, redis_server: str, seed: int) -> None:
    with Bench(server, side="sync", namespace="old") as bench:
        world = fill(bench, _STEPS, seed)
        keyed = {key: bench.do(new_job(key=key, thread=f"on {key}")).id for key in KEYS}
        before = answers(world, bench)
    first, where = moved(f"{redis_server}?namespace={server.own}old", server, three_nodes, 16)
    with Bench(first, side="sync", namespace="new") as bench:
        check(world, bench, first, before)
    second, _ = moved(where, first, three_nodes, 48)
    with Bench(second, side="sync", namespace="new") as bench:
        check(world, bench, second, before)
        assert {key: bench.do(new_job(key=key)).id for key in KEYS} == keyed
        assert end_all(bench) == []
        assert problems(bench, second) == []
    first.close()
    second.close()


def test_lines_that_are_split_go_on(server: RedisHarness, three_nodes: Cluster, redis_server: str) -> None:
    """Even in a partition that got no job whose end would let the next one out."""
    queue = new_target().queue
    with Bench(server, side="sync", namespace="old") as bench:
        for _ in range(20):
            bench.submit()
        limits = {queue: c.Limits(of_queue("0" * 32, queue), concurrency=1)}
        [running] = bench.do(c.Claim("w", ((queue, MINUTE),), tuple(mint("l") for _ in range(20)), limits))
        bench.do(c.Complete(fence_of(running), b"done"))
    new, _ = moved(f"{redis_server}?namespace={server.own}old", server, three_nodes, 16)
    with Bench(new, side="sync", namespace="new") as bench:
        assert problems(bench, new) == []
        assert end_all(bench) == []
    new.close()


def test_a_pause_holds_in_every_new_partition(server: RedisHarness, three_nodes: Cluster, redis_server: str) -> None:
    with Bench(server, side="sync", namespace="old") as bench:
        jobs = {bench.submit() for _ in range(20)}
        bench.do(c.PauseAgent("review"))
        last = bench.do(c.ResumeAgent("review"))
        bench.do(c.PauseAgent("write", "no model"))
        before = bench.do(c.Pauses())
    new, _ = moved(f"{redis_server}?namespace={server.own}old", server, three_nodes, 4)
    with Bench(new, side="sync", namespace="new") as bench:
        assert bench.do(c.Pauses()) == before
        assert bench.claim(20) == []
        assert bench.do(c.ResumeAgent("write", (new_target().queue,))).now
        assert {each.job.id for each in bench.claim(20)} == jobs
        assert bench.do(c.ResumeAgent("review")) == c.Changed(False, last.at)
    new.close()


def test_what_the_server_has_evicted_stays_behind(
    server: RedisHarness, three_nodes: Cluster, redis_server: str
) -> None:
    """A job, a checkpoint and a group, of which the lists are still there."""
    with Bench(server, side="sync", namespace="old") as bench:
        jobs = [bench.submit() for _ in range(3)]
        ids = [bench.save(None, "x" * 5000, thread="run") for _ in range(3)]
        for name in ("one", "two"):
            bench.do(c.JoinGroup(name))
        for key in (f"j:{jobs[1]}", f"c:{ids[1]}", f"h:{digest('group', 'one')}"):
            assert server.server.delete(f"{server.prefix_with('jobs')}{key}") == 1
    new, _ = moved(f"{redis_server}?namespace={server.own}old", server, three_nodes, 4)
    with Bench(new, side="sync", namespace="new") as bench:
        assert {row.id for row in bench.do(c.ListJobs(9))} == {jobs[0], jobs[2]}
        assert [row.id for row in bench.line("run")] == [ids[2], ids[0]]
        assert [group.name for group in bench.do(c.ListGroups())] == ["two"]
        bench.run(bench.face().delete("run"))
        assert end_all(bench) == []
    new.close()
