"""Pruning and deleting: what is old goes, what is of use stays, and what nobody uses any more is freed."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.memory.records import MemoryRecords
from batonpass.coordinator.sqlite.logs import SqliteLogs
from tests.conformance.test_growth import Thread, _grown, _kept
from tests.harness.bench import MINUTE, Bench
from tests.harness.stores import RedisHarness

DAY = 24 * 60 * MINUTE


def test_the_last_stay(bench: Bench) -> None:
    face = bench.face()
    ids = [bench.save(None, n, thread="run") for n in range(10)]
    assert bench.run(face.prune("run", keep_last=3)) == 7
    assert [row.id for row in bench.line("run")] == ids[:6:-1]
    assert bench.run(face.prune("run", keep_last=3)) == 0
    event = bench.do(c.Events(subject="run"))[-1].fields
    assert (event["type"], event["freed"]) == ("batonpass.thread.pruned", "7")


def test_the_young_stay(bench: Bench) -> None:
    face = bench.face()
    for n in range(4):
        bench.save(None, n, thread="run")
        bench.clock.advance(MINUTE)
    assert bench.run(face.prune("run", older_than=3 * 60)) == 2
    assert bench.run(face.prune("run", keep_last=1, older_than=0)) == 1
    assert bench.run(face.prune("run", keep_last=5, older_than=0)) == 0
    assert len(bench.line("run")) == 1


def test_named_ones_stay(bench: Bench) -> None:
    face = bench.face()
    ids = [bench.save(None, n, thread="run") for n in range(6)]
    bench.do(c.Name(ids[1], "best"))
    assert bench.run(face.prune("run", keep_last=1)) == 4
    assert [row.id for row in bench.line("run")] == [ids[5], ids[1]]
    assert bench.run(face.prune("run", keep_last=0, keep_named=False)) == 2
    assert bench.line("run") == []


def test_those_that_are_said_to_stay_do(bench: Bench) -> None:
    ids = [bench.save(None, n, thread="run") for n in range(6)]
    other = bench.save(None, thread="other")
    assert bench.do(c.Prune("run", 1, kept=(ids[2], ids[0], other, "unknown"))) == c.Freed(3)
    assert [row.id for row in bench.line("run")] == [ids[5], ids[2], ids[0]]


def test_a_thread_without_anything_is_forgotten(bench: Bench) -> None:
    face = bench.face()
    bench.save(None, thread="run")
    assert bench.do(c.Threads()) == ["run"]
    assert bench.run(face.prune(keep_last=0)) == 1
    assert bench.do(c.Threads()) == []


def test_what_a_job_would_resume_from_stays(bench: Bench) -> None:
    face = bench.face()
    fence = bench.start(thread="run")
    ids = [bench.save(fence, n, thread="run") for n in range(5)]
    bench.do(c.Release(fence))
    assert bench.run(face.prune("run", keep_last=0)) == 4
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == ids[-1]


def test_a_job_that_began_on_older_checkpoints(bench: Bench) -> None:
    """It has saved nothing yet, so it would continue from what was the thread's tip when it began."""
    tip = [bench.save(None, n, thread="run") for n in range(3)][-1]
    bench.submit(thread="run")
    assert bench.run(bench.face().prune("run", keep_last=0)) == 2
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == tip


def test_all_threads(bench: Bench) -> None:
    face = bench.face()
    for name in ("one", "two", "three"):
        for n in range(4):
            bench.save(None, n, thread=name)
    assert bench.run(face.prune(keep_last=1)) == 9
    assert [len(bench.line(name)) for name in ("one", "two", "three")] == [1, 1, 1]


def test_more_than_one_script_frees(bench: Bench) -> None:
    """Each looks at a bounded number; the call goes on until all is done."""
    for n in range(12):
        bench.save(None, n, thread="run")
    first = bench.do(c.Prune("run", keep_last=1, limit=5))
    assert (first.count, first.next) == (5, 5)
    second = bench.do(c.Prune("run", keep_last=1, start=first.next, limit=5))
    assert bench.do(c.Prune("run", keep_last=1, start=second.next, limit=5)) == c.Freed(1)
    assert len(bench.line("run")) == 1


def test_it_needs_a_reason(bench: Bench) -> None:
    for wrong in ({}, {"keep_last": -1}, {"older_than": -1.0}):
        with bench.refused(bp.BadSetup):
            bench.run(bench.face().prune("run", **wrong))


def test_pruned_threads_cost_what_is_left(bench: Bench) -> None:
    run = Thread(bench)
    empty = _kept(bench)
    saved = _grown(run, 120)
    bench.run(bench.face().prune("run", keep_last=1))
    assert run.restore(saved[-1][0]).state == saved[-1][1]
    left = _kept(bench) - empty
    assert left < 1.5 * len(repr(saved[-1][1]))
    bench.run(bench.face().prune("run", keep_last=0))
    assert _kept(bench) < empty + 500


def test_parents_of_what_is_left_are_right(bench: Bench) -> None:
    face = bench.face()
    ids = [bench.save(None, n, thread="run") for n in range(6)]
    bench.run(face.prune("run", keep_last=2))
    assert [found.parent_id for found in bench.run(face.timeline(thread="run"))] == [ids[4], ids[3]]
    assert [found.id for found in bench.run(face.ancestors(ids[5]))] == [ids[4]]
    made = bench.run(face.save(thread="run", agent="a", state=1))
    assert (made.parent_id, made.step_index) == (ids[5], 6)


# delete


def test_deleting_a_thread(bench: Bench) -> None:
    face = bench.face()
    empty = _kept(bench)
    saved = _grown(Thread(bench), 30)
    bench.do(c.Name(saved[3][0], "best"))
    assert bench.run(face.delete("run")) == 30
    assert (bench.line("run"), bench.do(c.Threads())) == ([], [])
    assert _kept(bench) < empty + 300
    assert bench.happened("run")[-1] == "thread.deleted"
    assert bench.run(face.delete("run")) == 0
    first = bench.run(face.save(thread="run", agent="a", state=1))
    assert (first.parent_id, first.step_index) == (None, 0)


def test_not_while_a_job_runs(bench: Bench) -> None:
    face = bench.face()
    fence = bench.start(thread="run")
    bench.save(fence, thread="run")
    with bench.refused(bp.ThreadBusy, fence.job_id):
        bench.run(face.delete("run"))
    bench.do(c.Complete(fence, b"result"))
    assert bench.run(face.delete("run")) == 1


def test_ended_jobs_go_with_their_thread(bench: Bench) -> None:
    face = bench.face()
    jobs = []
    for n in range(3):
        fence = bench.start(thread="run", key=f"k{n}")
        bench.save(fence, thread="run")
        bench.do(c.Complete(fence, b"result"))
        jobs.append(fence.job_id)
    own = bench.start(key="own")
    bench.do(c.Complete(own, b"result"))
    bench.run(face.delete("run"))
    assert [row.id for row in bench.do(c.ListJobs())] == [own.job_id]
    for id_ in jobs:
        with bench.refused(bp.NotFound, id_):
            bench.do(c.ReadJob(id_))
    bench.clock.advance(MINUTE)  # over several partitions a key that was noted elsewhere is free a little later
    assert bench.submit(key="k0", payload="other") not in jobs
    bench.run(face.delete(own.job_id))
    with bench.refused(bp.NotFound):
        bench.do(c.ReadJob(own.job_id))


def test_forks_in_other_threads_stay_whole(bench: Bench) -> None:
    face = bench.face()
    saved = _grown(Thread(bench), 30)
    fork = bench.run(face.fork(saved[20][0], thread="other", changes={"round": "x"}))
    bench.run(face.delete("run"))
    assert bench.run(face.restore(fork.id)).state == {**saved[20][1], "round": "x"}
    assert bench.run(face.delete("other")) == 1
    assert bench.harness.logs() == {}


# jobs


def test_deleting_a_job(bench: Bench) -> None:
    face = bench.face()
    fence = bench.start(key="k")
    bench.save(fence, thread=fence.job_id)
    with bench.refused(bp.WrongState, "cancel it"):
        bench.run(face.delete_job(fence.job_id))
    bench.do(c.Complete(fence, b"result"))
    bench.run(face.delete_job(fence.job_id))
    with bench.refused(bp.NotFound):
        bench.run(face.delete_job(fence.job_id))
    with bench.refused(bp.NotFound):
        bench.do(c.DeleteJob(fence.job_id))
    assert (bench.line(fence.job_id), bench.do(c.Threads())) == ([], [])
    assert "job.deleted" in bench.happened(fence.job_id)
    assert bench.submit(key="k", payload="other") != fence.job_id


def test_a_job_on_a_thread_of_its_users(bench: Bench) -> None:
    """Their checkpoints are not the job's to take away."""
    fence = bench.start(thread="run")
    bench.save(fence, thread="run")
    bench.do(c.Complete(fence, b"result"))
    bench.run(bench.face().delete_job(fence.job_id))
    assert len(bench.line("run")) == 1
    assert bench.do(c.ListJobs()) == []


def test_a_key_that_is_another_jobs_by_now(bench: Bench) -> None:
    first = bench.start(key="k")
    bench.do(c.Complete(first, b"result"))
    bench.clock.advance(2 * DAY)
    second = bench.submit(key="k", payload="other")
    bench.do(c.DeleteJob(first.job_id))
    assert bench.submit(key="k", payload="other") == second


@pytest.mark.one_partition
def test_pruning_jobs(bench: Bench) -> None:
    face = bench.face()
    old = bench.start(key="old")
    bench.save(old, thread=old.job_id)
    bench.do(c.Complete(old, b"result"))
    named = bench.start()
    bench.do(c.Name(bench.save(named, thread=named.job_id), "best"))
    bench.do(c.Complete(named, b"result"))
    branched = bench.start()
    bench.save(branched, thread=branched.job_id)
    bench.do(c.Complete(branched, b"result"))
    waiting = bench.start()
    bench.suspend(waiting)
    on_theirs = bench.start(thread="run")
    bench.save(on_theirs, thread="run")
    bench.do(c.Complete(on_theirs, b"result"))
    bench.clock.advance(2 * DAY)
    bench.save(None, thread=branched.job_id)
    young = bench.start()
    bench.do(c.Complete(young, b"result"))
    assert bench.run(face.prune_jobs(older_than=86_400)) == 2
    left = {row.id for row in bench.do(c.ListJobs())}
    assert left == {named.job_id, branched.job_id, waiting.job_id, young.job_id}
    assert bench.line(old.job_id) == []
    assert len(bench.line("run")) == 1
    bench.do(c.Cancel(waiting.job_id))
    assert bench.run(face.prune_jobs(older_than=86_400)) == 0


@pytest.mark.parametrize("saves", [0, 3])
def test_pruning_many_jobs(bench: Bench, saves: int) -> None:
    """In pages of five jobs and checkpoints: what is kept does not hide what comes after it."""
    kept = bench.submit()
    bench.clock.advance(1)
    for _ in range(6):
        fence = bench.start(agent="review")
        for n in range(saves):
            bench.save(fence, n, thread=fence.job_id)
        bench.do(c.Complete(fence, b"result"))
    count, at = 0, 0
    while at >= 0:
        done = bench.do(c.PruneJobs(0, at, 5))
        count, at = count + done.count, done.next
    assert count == 6
    assert [row.id for row in bench.do(c.ListJobs())] == [kept]
    assert bench.do(c.Threads()) == [kept]


@pytest.mark.one_partition
def test_pruning_jobs_ends_at_the_first_young_one(bench: Bench) -> None:
    """They come in order of their creation. To page through all that stay took a minute for 40,000 of them."""
    old, waiting = bench.start(), bench.submit()
    bench.do(c.Complete(old, b"result"))
    bench.clock.advance(DAY)
    young = [bench.start(agent="review") for _ in range(5)]
    for fence in young:
        bench.do(c.Complete(fence, b"result"))
    assert bench.do(c.PruneJobs(DAY, 0, 3)) == c.Freed(1), "nothing is left to look at behind a full page"
    assert {row.id for row in bench.do(c.ListJobs())} == {waiting, *(fence.job_id for fence in young)}


@pytest.mark.one_partition
def test_a_page_frees_no_more_checkpoints_than_it_may(bench: Bench) -> None:
    for _ in range(3):
        fence = bench.start()
        for _ in range(3):
            bench.save(fence, thread=fence.job_id)
        bench.do(c.Complete(fence, b"result"))
    assert [bench.do(c.PruneJobs(0, 0, 5)).count for _ in range(3)] == [1, 1, 1]


def test_freeing_part_of_a_long_thread_does_not_read_the_rest(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of 10,000 steps has as many spans. To look at all of them for each one that goes would hold others
    up."""
    saved = _grown(Thread(bench), 40)

    def look(*_: object) -> list[tuple[int, int]]:
        pytest.fail("it looked at all spans")

    for records in (MemoryRecords, SqliteLogs):
        monkeypatch.setattr(records, "used", look)
    server = bench.harness.server if type(bench.harness) is RedisHarness else None
    if server:
        server.config_resetstat()
    bench.do(c.Expire(saved[30][0]))
    bench.run(bench.face().prune("run", keep_last=3))
    if server:
        assert "cmdstat_hkeys" not in server.info("commandstats")
    assert [row.id for row in bench.line("run")] == [id_ for id_, _ in saved[:-4:-1]]
    assert bench.run(bench.face().restore(saved[-1][0])).state == saved[-1][1]
    monkeypatch.undo()
    bench.run(bench.face().delete("run"))
    assert bench.harness.logs() == {}
