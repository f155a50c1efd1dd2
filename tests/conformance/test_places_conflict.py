"""Who may put: one run at a time, and only the holder of the lease if there is one."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Write
from tests.harness.bench import MINUTE, Bench, commit_of, new_checkpoint
from tests.harness.places import Places, large

# a tip that must be the latest


def test_two_runs_from_one_tip(bench: Bench) -> None:
    """The second one is told, and nothing of it is written."""
    one, other = Places(bench), Places(bench)
    one.put("a", tip="")
    one.put("b", "a", tip="a")
    expected = "has advanced thread 'run' to checkpoint b, this one began from a: nothing of this superstep"
    with bench.refused(bp.Conflict, expected):
        other.put("c", "a", tip="a", state=large("c"), writes=[Write("x", b"1")])
    assert (one.keys(), one.written("a")) == (["b", "a"], {})
    one.put("c", "b", tip="b")


def test_two_first_runs(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", tip="")
    with bench.refused(bp.Conflict, "advanced thread 'run' to checkpoint a, this one began when it had none"):
        run.put("b", tip="")


def test_a_run_that_goes_on_from_what_is_gone(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    bench.do(c.Expire(run.put("b", "a")))
    with bench.refused(bp.Conflict, "checkpoint b of thread 'run', from which this run continues, does not exist"):
        run.put("c", "b", tip="b")
    run.put("c", "a", tip="a")


def test_each_scope_has_its_own(bench: Bench) -> None:
    run = Places(bench)
    run.put("z")
    run.put("a", scope="s", tip="")
    run.put("b", "a", scope="s", tip="a")
    with bench.refused(bp.Conflict):
        run.put("c", "a", scope="s", tip="a")
    run.put("zz", "z", tip="z")


def test_whose_time_is_over_is_none(bench: Bench) -> None:
    run = Places(bench)
    run.put("a", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    run.put("b", tip="")


def test_what_asks_for_nothing_may_branch(bench: Bench) -> None:
    run = Places(bench)
    first = run.line("a", "b")[0]
    branch = run.put("c", "a")
    assert commit_of(bench.do(c.Restore(branch))).parent == first


def test_the_same_put_again_is_no_conflict(bench: Bench) -> None:
    run = Places(bench)
    put = c.Put(run.new("a"), tip="")
    first = bench.do(put)
    run.put("b", "a", tip="a")
    assert bench.do(put) == first


# jobs


def test_a_thread_of_a_job_is_closed_to_others(bench: Bench) -> None:
    fence = bench.start(thread="run")
    run = Places(bench)
    with bench.refused(bp.ThreadBusy, fence.job_id):
        run.put("a")
    with bench.refused(bp.ThreadBusy, fence.job_id):
        run.write("a", Write("x", b"1"))
    run.put("a", fence=fence)
    run.write("a", Write("x", b"1"), fence=fence)
    assert run.written("a") == {"x": b"1"}
    bench.do(c.Complete(fence, b"result"))
    run.put("b", "a")
    run.write("b", Write("x", b"1"))


def test_it_is_told_of_the_job(bench: Bench) -> None:
    fence = bench.start(thread="run")
    id_ = Places(bench).put("a", fence=fence)
    event = bench.do(c.Events(subject=fence.job_id))[-1].fields
    assert (event["type"], event["checkpoint"]) == ("batonpass.checkpoint.saved", id_)
    assert (event["agent"], event["hop"], event["step"]) == ("write", "0", "step")


def test_the_job_goes_on_from_the_latest(bench: Bench) -> None:
    fence = bench.start(thread="run")
    run = Places(bench)
    latest = run.put("m", fence=fence)
    run.put("b", fence=fence)
    run.put("z", scope="s", fence=fence)
    assert bench.job(fence.job_id).tip == latest
    newest = run.put("n", "m", fence=fence)
    assert bench.job(fence.job_id).tip == newest
    saved = bench.save(fence, thread="run")
    assert commit_of(bench.do(c.Restore(saved))).parent == newest
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == saved
    again = delivery.job.fence
    assert commit_of(bench.do(c.Restore(bench.save(again, thread="run")))).parent == saved


def test_and_from_what_took_its_origins_place(bench: Bench) -> None:
    """In a scope whose latest is not the thread's tip."""
    run = Places(bench)
    run.put("m")
    fence = bench.start(thread="run", origin=run.put("a", scope="s"))
    replacing = run.put("a", scope="s", fence=fence)
    assert bench.job(fence.job_id).tip == replacing
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == replacing


def test_a_jobs_checkpoints_are_counted_at_places_too(bench: Bench) -> None:
    fence = bench.start(thread="run")
    run = Places(bench)
    run.put("a", fence=fence)
    run.put("b", "a", fence=fence)
    bench.save(fence, thread="run")
    run.put("c", "b", fence=fence)
    run.put("d", "c", fence=fence, scope="other")
    bench.do(c.Complete(fence, b"result"))
    bench.save(None, thread="run")
    run.put("e", "c")
    indexes = [commit_of(row).step_index for row in reversed(bench.line("run"))]
    assert indexes == list(range(7))


def test_and_from_what_took_its_place(bench: Bench) -> None:
    run = Places(bench)
    run.put("m")
    fence = bench.start(thread="run")
    replacing = run.put("m", fence=fence)
    assert bench.job(fence.job_id).tip == replacing
    bench.do(c.Complete(fence, b"result"))
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == replacing


def test_who_lost_the_lease_writes_nothing(bench: Bench) -> None:
    fence = bench.start(thread="run", lease=MINUTE)
    run = Places(bench)
    put = c.Put(run.new("a"), fence=fence)
    bench.do(put)
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Reap())
    bench.take()
    for write in (
        lambda: run.put("b", "a", fence=fence, state=large("b"), writes=[Write("x", b"1")]),
        lambda: run.write("a", Write("x", b"1"), fence=fence),
        lambda: bench.do(put),
    ):
        with bench.refused(bp.Fenced):
            write()


def test_a_lease_is_of_one_thread(bench: Bench) -> None:
    fence = bench.start(thread="run")
    other = Places(bench, "other")
    with bench.refused(bp.BadSetup, "another thread"):
        other.put("a", fence=fence)
    with bench.refused(bp.BadSetup, "another thread"):
        other.write("a", Write("x", b"1"), fence=fence)


def test_an_unknown_job(bench: Bench) -> None:
    fence = bench.start(thread="run")
    gone = c.Fence("j" + "0" * 23, fence.token, fence.lease_id)
    with bench.refused(bp.NotFound):
        Places(bench).put("a", fence=gone)
    with bench.refused(bp.NotFound):
        Places(bench).write("a", Write("x", b"1"), fence=gone)


def test_a_lease_does_not_help_against_a_tip_that_moved(bench: Bench) -> None:
    fence = bench.start(thread="run")
    run = Places(bench)
    run.put("a", fence=fence, tip="")
    with bench.refused(bp.Conflict):
        run.put("b", fence=fence, tip="")


def test_a_checkpoint_without_a_place_is_not_put(bench: Bench) -> None:
    with bench.refused(bp.BadSetup, "no place"):
        bench.do(c.Put(new_checkpoint(thread="run")))


@pytest.mark.parametrize("scope", ["", "s"])
def test_many_branches_one_latest(bench: Bench, scope: str) -> None:
    run = Places(bench)
    run.put("a", scope=scope)
    for number in range(20):
        run.put(f"b{number:02}", "a", scope=scope)
    assert run.at(scope=scope) == "b19"
    with bench.refused(bp.Conflict, "checkpoint b19"):
        run.put("c", "a", scope=scope, tip="a")
