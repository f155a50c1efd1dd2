"""Every key has an owner and a way to go: after a full life only what is meant to stay is left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Write
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.items import Items, name
from tests.harness.keyspace import SINGLE, Keyspace, restorable
from tests.harness.places import Places, first_part, large
from tests.harness.stores import RedisHarness
from tests.rules.scenes import SCENES, Scene

DAY = 24 * 60 * MINUTE


@pytest.fixture
def harness(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


def look(harness: RedisHarness, bench: Bench) -> Keyspace:
    """The keyspace, in which everything is as it must be."""
    found = Keyspace(harness.server, bench.store.prefix)  # type: ignore[attr-defined]
    assert not [*found.problems(), *restorable(bench.store, found)]
    return found


def kinds(keyspace: Keyspace) -> set[str]:
    return {name.partition(":")[0] for name in keyspace.keys}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_before_and_after_every_operation(harness: RedisHarness, scene: Scene) -> None:
    with Bench(harness, side="sync") as bench:
        command = scene(bench)
        look(harness, bench)
        bench.do(command)
        look(harness, bench)


def places(bench: Bench) -> None:
    """Checkpoints that follow and replace each other at places, with writes there before and after them, in runs."""
    run = Places(bench, "placed")
    run.write("b", Write("early", b"1"))
    run.line("a", "b", state=large("b"), run="r", ttl=MINUTE)
    new = run.new("c", large("c"), run="s")
    shared = first_part(new)[0]
    bench.do(c.Put(new, "b", "b", writes=[Write("x", b"1", shared), Write("y", b"2", shared)]))
    run.write("b", Write("x", b"inline", again=True))
    run.put("b", "a", state=large("b again"), run="r")
    run.put("c", "b", scope="inner", run="r")
    look_for(bench, "placed", 4)


def look_for(bench: Bench, thread: str, count: int) -> None:
    """So many places of a thread have a checkpoint."""
    assert len(bench.do(c.Places(thread, None))) == count


def everything(bench: Bench) -> None:
    """Jobs in every state, on their way there through every operation, with keys and checkpoints that expire."""
    handed = bench.start(key="handed")
    bench.save(handed, records={"a": b"1"})
    bench.do(c.HandOff(handed, new_target("review"), None))
    review = bench.take(agent="review")
    bench.save(review, {"messages": ["x" * 5000] * 20}, ttl=MINUTE)
    bench.suspend(review)
    bench.do(c.AnswerJob(review.job_id, b"yes"))
    again = bench.take(agent="review")
    bench.do(c.Release(again))
    bench.do(c.Complete(bench.take(agent="review"), b"result"))
    failed = bench.start(key="failed")
    bench.save(failed, records={"effect/pay": b"1"})
    bench.do(c.Emit(failed, (b"word",)))
    bench.do(c.Fail(failed, "boom", "attempts"))
    bench.do(c.Redrive(failed.job_id))
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    bench.do(c.Fail(bench.start(), "no", "rejected", None, "rejected"))
    retried = bench.start(key="retried")
    bench.save(retried, records={"a": b"1"})
    bench.do(c.Fail(retried, "boom", "", retry_in=5))
    bench.submit(delay=MINUTE)
    bench.start(lease=1, key="crashed")
    bench.clock.advance(10)
    bench.do(c.Reap(worker="w", queues=(new_target().queue,), presence=MINUTE))
    for row in bench.do(c.ListJobs()):
        bench.do(c.Cancel(row.id))
    bench.save(None, thread="free", ttl=MINUTE)
    bench.save(None, thread="free", ttl=MINUTE)
    places(bench)
    Items(bench).put(name("a"), name("b"), ttl=MINUTE)
    Items(bench).put(name("c"))
    Items(bench).delete(name("c"))
    bench.do(c.Declare({"write": b"1"}))


def test_a_full_life(harness: RedisHarness) -> None:
    with Bench(harness, side="sync") as bench:
        everything(bench)
        look(harness, bench)
        bench.clock.advance(2 * DAY)
        bench.claim(10)  # entries of jobs that were canceled while they were ready
        bench.claim(10, agent="review")
        while bench.do(c.Reap(limit=500)).moved:
            pass
        for row in bench.do(c.ListJobs()):
            for line in bench.line(row.thread):
                bench.do(c.Expire(line.id))
        for line in bench.line("placed"):
            bench.do(c.Expire(line.id))
        left = look(harness, bench)
        assert not left.expiring
        assert left.of("c") == left.of("l") == left.of("u") == left.of("o") == {}
        assert left.of("n").keys() == {job.decode() for job in left.single("dead")}  # a redrive goes on with it
        assert left.of("g") == left.of("k") == left.of("r") == left.of("e") == {}
        assert left.of("i") == left.of("p") == left.of("w") == left.of("x") == {}
        assert not left.single("leases")
        assert not left.single("timers")
        assert not left.single("expiry")
        assert not left.single("items")
        assert not left.single("lapses")
        assert all(stream == [] for stream in left.of("q").values())
        # What stays: ended jobs with their threads, what there is one of, and one empty stream for each queue.
        assert kinds(left) <= SINGLE | {"j", "t", "q", "y", "n"}


def test_a_retried_key_after_its_time(harness: RedisHarness) -> None:
    """The record of an idempotency key goes a day after its job's end, not before."""
    with Bench(harness, side="sync") as bench:
        first = bench.submit(key="k")
        bench.clock.advance(3 * DAY)
        assert bench.submit(key="k") == first
        bench.do(c.Cancel(first))
        bench.clock.advance(DAY - MINUTE)
        assert bench.submit(key="k") == first
        with bench.refused(bp.KeyConflict):
            bench.submit(key="k", payload="other")
        bench.clock.advance(2 * MINUTE)
        assert bench.submit(key="k", payload="other") != first
        look(harness, bench)
