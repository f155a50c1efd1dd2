"""A namespace over several partitions: what lives where, and commands that concern many of them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import batonpass as bp
from batonpass.contracts.names import home, mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.partitions import partition
from batonpass.coordinator.rows import JobRow, KeptJob
from tests.harness.bench import MINUTE, Bench, fence_of, new_checkpoint, new_job, new_target
from tests.harness.cluster import Cluster, ClusterHarness

COUNT = 16
KEY = re.compile(r"bp:\{[^{}:]+:(\d+)\}:(.+)")


def queues(*agents: str) -> tuple[tuple[str, int], ...]:
    return tuple((new_target(agent).queue, MINUTE) for agent in agents)


def leases(wanted: int) -> tuple[str, ...]:
    return tuple(mint("l") for _ in range(wanted))


def test_every_command_goes_to_the_partition_of_what_it_is_about() -> None:
    """One that names neither a job, a checkpoint nor a thread is about all jobs, or about agents."""
    named = {"fence", "job_id", "checkpoint_id", "thread"}
    without = {
        kind.__name__
        for kind in vars(c).values()
        if isinstance(kind, type) and issubclass(kind, c.Command) and not named & set(getattr(kind, "__slots__", ()))
    }
    assert without - {"Command", "Adopt"} == {
        *("Claim", "Heartbeat", "Reap", "ListJobs", "Inbox", "Events", "LastEvent", "TrimEvents"),
        *("JoinGroup", "TakeEvents", "AckEvents", "ListGroups", "DeleteGroup"),
        *("Threads", "PruneJobs", "Declare", "Declared", "Takers", "OfRun", "FirstUse"),
        *("PauseAgent", "ResumeAgent", "Pauses"),
        *("WriteItems", "ReadItems", "RefreshItems", "ListItems", "ListSpaces"),
    }
    job, fence = mint("j", 700), c.Fence(mint("j", 701), 1, mint("l"))
    about = (c.ReadJob(job), c.Release(fence), c.Restore(mint("c", 702)))
    assert [partition(each) for each in about] == [700, 701, 702]
    assert partition(c.Adopt(KeptJob(JobRow(job, job, "failed"), {}, []))) == 700
    assert partition(c.Latest("run")) == home("run")
    assert partition(c.Latest(job)) == 700
    assert partition(c.Put(new_checkpoint(thread="run"))) == home("run")
    assert partition(c.Put(new_checkpoint(thread="run"), fence=fence)) == 701


def test_everything_of_a_job_is_in_its_partition(bench: Bench, harness: ClusterHarness) -> None:
    jobs = [bench.submit(thread=f"run-{n}" if n % 2 else "", key=str(n) if n % 3 else "") for n in range(48)]
    deliveries = bench.claim(48)
    assert sorted(each.job.id for each in deliveries) == sorted(jobs)
    for each in deliveries:
        bench.save(fence_of(each), ["state", "x" * 2000], thread=each.job.thread, records={"a": b"1"})
    places: Counter[int] = Counter()
    for key in harness.kept():
        found = KEY.fullmatch(key)
        assert found, key
        for minted in re.findall(r"\b[jc][0-9a-z]{23}\b", found[2]):
            assert partition_of(minted) % COUNT == int(found[1]), key
            places[int(found[1])] += 1
    assert len(places) > COUNT // 2, "jobs spread over the partitions"
    for each in deliveries:
        assert home(each.job.thread) % COUNT == partition_of(each.job.id) % COUNT
        assert bench.tip(each.job.thread) == bench.job(each.job.id).tip


def test_a_partition_that_refuses_a_claim_is_not_taken_for_an_empty_one(bench: Bench, harness: ClusterHarness) -> None:
    job = bench.submit()
    [kept] = [each for each in harness.kept() if each.endswith(f"}}:j:{job}")]
    key = kept.replace(f":j:{job}", f":a:{bench.job(job).queue}")
    harness.server.set(key, "not those that go ahead")
    with pytest.raises(bp.Unreachable, match="WRONGTYPE"):
        bench.claim()
    others = [bench.submit() for _ in range(8)]
    elsewhere = {each for each in others if (partition_of(each) - partition_of(job)) % COUNT}
    assert {each.job.id for each in bench.claim(9)} == elsewhere, "what others have is given all the same"
    harness.server.delete(key)


def test_a_claim_over_partitions_takes_no_more_than_wanted(bench: Bench) -> None:
    jobs = {bench.submit() for _ in range(40)}
    found = [each for wanted in (1, 7, 16, 30) for each in bench.claim(wanted)]
    assert len(found) == 40
    assert {each.job.id for each in found} == jobs
    assert len({each.job.lease for each in found}) == 40
    assert bench.claim(3) == []


def test_an_earlier_queue_goes_before_in_whatever_partition(bench: Bench) -> None:
    for _ in range(6):
        bench.submit("review")
        bench.submit("write")
    found = bench.do(c.Claim("w", queues("write", "review"), leases(8)))
    assert [each.job.agent for each in found] == ["write"] * 6 + ["review"] * 2


def test_heartbeats_of_several_partitions(bench: Bench) -> None:
    for _ in range(12):
        bench.submit()
    fences = [fence_of(each) for each in bench.claim(12)]
    bench.do(c.Cancel(fences[3].job_id))
    bench.do(c.Complete(fences[7], b"result"))
    expected = ["canceled" if n == 3 else "lost" if n == 7 else "" for n in range(12)]
    assert bench.do(c.Heartbeat(tuple((fence, MINUTE) for fence in fences))) == expected


def test_upkeep_of_all_partitions(bench: Bench) -> None:
    for _ in range(20):
        bench.submit()
    bench.claim(12, lease=1000)
    bench.claim(8, lease=2000)
    queue = new_target().queue
    assert bench.do(c.Reap(worker="w", queues=(queue,), presence=MINUTE)) == c.Reaped(0, 1000)
    assert bench.do(c.Takers(queue)) == 1
    bench.clock.advance(1000)
    assert bench.do(c.Reap()) == c.Reaped(12, 1000)
    bench.clock.advance(1000)
    assert bench.do(c.Reap()) == c.Reaped(8, -1)
    assert len(bench.claim(30)) == 20


@pytest.mark.parametrize("limit", [1, 4, 50])
def test_jobs_newest_first_across_partitions(bench: Bench, limit: int) -> None:
    jobs: list[str] = []
    for n in range(30):
        jobs.append(bench.submit())
        if n % 3 == 0:  # some are of one millisecond: those have any order, but always the same
            bench.clock.advance(1)
    rows = [row for row in bench.do(c.ListJobs(100)) if row.id in jobs]
    assert len(rows) == 30
    assert [row.created for row in rows] == sorted((row.created for row in rows), reverse=True)
    read: list[str] = []
    while page := bench.do(c.ListJobs(limit, read[-1] if read else "")):
        assert len(page) <= limit
        read += [row.id for row in page]
    assert read == [row.id for row in rows]


def test_events_of_all_partitions(bench: Bench) -> None:
    """Every event once, each job's in order, and by time, from any cursor on."""
    jobs = [bench.submit() for _ in range(20)]
    for each in bench.claim(20):
        bench.do(c.Complete(fence_of(each), b"result"))
    whole = bench.do(c.Events(limit=1000))
    assert len(whole) == 60
    for job in jobs:
        told = [row.fields["type"].rpartition(".")[2] for row in whole if row.fields["subject"] == job]
        assert told == ["submitted", "started", "completed"]
    times = [int(row.fields["time"]) for row in whole]
    assert times == sorted(times)
    for limit in (1, 20, 100):
        read = [row.position for row in bench.do(c.Events(limit=limit))]
        while more := bench.do(c.Events(read[-1], limit=limit)):
            assert len(more) <= limit
            read += [row.position for row in more]
        assert read == [row.position for row in whole]
    assert bench.do(c.LastEvent()) == whole[-1].position
    late = bench.submit()
    [row] = bench.do(c.Events(whole[-1].position))
    assert row.fields["subject"] == late


def test_a_cursor_of_all_events_is_good_for_one_job(bench: Bench) -> None:
    fence = bench.start()
    [*_, row] = bench.do(c.Events())
    bench.do(c.Complete(fence, b"result"))
    bench.submit()
    [mine] = [row for row in bench.do(c.Events(row.position, fence.job_id)) if row.fields]
    assert mine.fields["type"] == "batonpass.job.completed"


@pytest.mark.parametrize("cursor", ["1-1-1", "5", "1.1-1", "1.1-1~1-1~1-1~1-1", "0.0-0" + "~" * 17])
def test_a_cursor_of_another_store_is_refused(bench: Bench, cursor: str) -> None:
    with bench.refused(bp.BadSetup, "not a cursor of this store"):
        bench.do(c.Events(cursor))


def test_events_of_the_face(bench: Bench) -> None:
    face = bench.face()
    for _ in range(5):
        bench.start()
    events = bench.run(face.events())
    assert len({event.id for event in events}) == len(events) == 10
    assert all(re.fullmatch(r"\d+\.\d+-\d+", event.id) for event in events)
    assert [event.id for event in bench.run(face.events(after=events[6].cursor))] == [e.id for e in events[7:]]


def test_a_new_job_inherits_its_origins_partition(bench: Bench) -> None:
    face = bench.face()
    bench.run(face.save(thread="run", agent="write", state={"a": 1}))
    origin = bench.tip("run")
    row = bench.do(new_job(origin=origin))
    assert partition_of(row.id) == partition_of(origin) == home("run")
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == origin


def test_a_thread_elsewhere_can_not_go_on_from_a_checkpoint(bench: Bench) -> None:
    origin = bench.save(None, thread="run")
    other = next(name for name in map(str, range(99)) if (home(name) - home("run")) % COUNT)
    with bench.refused(bp.BadSetup, r"different partitions .* make a new thread of it with fork\(checkpoint, thread"):
        bench.save(None, thread=other, parent=origin, branch=True)
    with bench.refused(bp.BadSetup, "different partitions"):
        bench.do(c.Submit(mint("j", home(other)), other, new_target(), origin=origin))


def test_a_thread_elsewhere_can_be_made_of_a_checkpoint(cluster_url: str) -> None:
    """As the error says that tells of the other way."""
    other = next(name for name in map(str, range(99)) if (home(name) - home("run")) % COUNT)
    with bp.connect(cluster_url) as coordinator:
        origin = coordinator.save(thread="run", agent="a", state={"n": 1})
        with pytest.raises(bp.BadSetup) as refused:
            coordinator.save(thread=other, agent="a", state={"n": 2}, parent=origin.id, branch=True)
        assert "branch=True" not in str(refused.value), "it was given"
        made = coordinator.fork(origin.id, state={"n": 2}, thread=other)
        assert [each.id for each in coordinator.ancestors(made.id)] == [origin.id]
        again = coordinator.save(thread="run", agent="a", state={"n": 3}, parent=origin.id, branch=True)
        assert again.thread == "run"


def test_each_partition_keeps_its_share_of_the_events(cluster_url: str) -> None:
    with bp.connect(cluster_url) as coordinator:
        for n in range(100):
            coordinator.save(thread=str(n), agent="a", state=n)
        used = len({home(str(n)) % COUNT for n in range(100)})
        coordinator.trim_events(10)
        assert len(list(coordinator.events())) == used
        assert coordinator.trim_events(1) == 0


def test_the_number_of_partitions_is_kept(three_nodes: Cluster, cluster_url: str) -> None:
    with bp.connect(f"{cluster_url}&partitions=4") as first, bp.connect(cluster_url) as second:
        for n in range(12):
            first.save(thread=str(n), agent="a", state={"n": n})
        latest = [second.latest(thread=str(n)) for n in range(12)]
        assert [found and found.state for found in latest] == [{"n": n} for n in range(12)]
    namespace = cluster_url.partition("namespace=")[2]
    with three_nodes.client() as client:
        found = client.scan_iter(match=f"bp:{{{namespace}:*", count=1000)
        tags = {KEY.fullmatch(key.decode())[1] for key in found}  # type: ignore[index]
    assert tags <= {"0", "1", "2", "3"}
    with (
        pytest.raises(bp.BadSetup, match="made with 4 partitions: leave partitions=16 out"),
        bp.connect(f"{cluster_url}&partitions=16"),
    ):
        pass


@pytest.mark.parametrize("number", ["-1", "1025", "x", "1.5"])
def test_a_number_of_partitions_that_can_not_be(cluster_url: str, number: str) -> None:
    with pytest.raises(bp.BadSetup, match="1 to 1024"):
        bp.connect(f"{cluster_url}&partitions={number}")


@pytest.mark.parametrize("query", ["db=1", "replicas=1", "nonsense=1"])
def test_options_that_a_cluster_does_not_have(three_nodes: Cluster, query: str) -> None:
    with pytest.raises(bp.BadSetup, match="can't be used"):
        bp.connect(f"{three_nodes.url}?{query}")


def test_a_node_is_not_a_server(three_nodes: Cluster) -> None:
    """Nearly all namespaces have their slot on another node. This is what happens if a user forgets `+cluster`."""
    with pytest.raises(bp.BadSetup, match=r"write redis\+cluster://"):
        for namespace in map(str, range(20)):
            with bp.connect(three_nodes.nodes[0].url, namespace=f"moved-{namespace}"):
                pass


def test_no_cluster_there() -> None:
    with (
        pytest.raises(bp.Unreachable, match=r"redis\+cluster://127.0.0.1:1,127.0.0.1:2"),
        bp.connect("redis+cluster://127.0.0.1:1,127.0.0.1:2"),
    ):
        pass
