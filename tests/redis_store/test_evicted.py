"""Jobs whose records a server has evicted (a warning at connect says that it may): the others continue."""

from __future__ import annotations

import pytest

from batonpass.contracts.names import digest
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.children import Family
from tests.harness.stores import RedisHarness


def _evict(bench: Bench, job_id: str) -> None:
    assert isinstance(bench.harness, RedisHarness)
    [key] = bench.harness.server.scan_iter(match=f"bp:{{{bench.harness.own}*:j:{job_id}", count=1000)
    bench.harness.server.delete(key)


def test_upkeep_passes_over_them(bench: Bench) -> None:
    leased, other = (bench.start(lease=1).job_id for _ in range(2))
    timed, late = bench.submit(delay=1), bench.submit(terms=c.Terms(within=1))
    asking = bench.start("ask").job_id
    bench.do(c.Suspend(c.Fence(asking, (row := bench.job(asking)).token, row.lease), b"sure?", timeout=1))
    for job_id in (leased, timed, late, asking):
        _evict(bench, job_id)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.state(other) == ("submitted", "ready")
    assert bench.do(c.Reap()).next_due == -1


def test_upkeep_passes_over_a_thread_that_is_gone(bench: Bench) -> None:
    assert isinstance(bench.harness, RedisHarness)
    bench.save(None, thread="run", ttl=MINUTE)
    [key] = bench.harness.server.scan_iter(match=f"bp:{{{bench.harness.own}*}}:t:*", count=1000)
    bench.harness.server.delete(key)
    fence = bench.start(lease=1)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.state(fence.job_id) == ("submitted", "ready")


def test_children_of_which_some_are_gone(bench: Bench) -> None:
    family = Family(bench, bench.start("parent"), 3)
    family.spawn()
    _evict(bench, family.children[0].job_id)
    bench.do(c.Cancel(family.parent))
    bench.do(c.Reap())
    assert {bench.state(child.job_id)[0] for child in family.children[1:]} == {"canceled"}


def test_the_next_one_in_a_threads_line_begins(bench: Bench) -> None:
    fence = bench.start(thread="run")
    gone, following = (bench.submit(thread="run", on_busy="queue") for _ in range(2))
    _evict(bench, gone)
    bench.do(c.Complete(fence, b"result"))
    assert bench.state(following) == ("submitted", "ready")


def test_an_entry_that_is_not_the_jobs_delivery_is_not_run(bench: Bench) -> None:
    """As if somebody had put it there, or an older backup had brought it back."""
    assert isinstance(bench.harness, RedisHarness)
    fence = bench.start()
    [prefix] = {key.rpartition("j:")[0] for key in [*bench.harness.keys()] if f"j:{fence.job_id}" in key}
    queue = f"{prefix}q:{new_target().queue}"
    bench.harness.server.xadd(queue, {"job": fence.job_id})
    assert bench.claim() == []
    assert bench.harness.server.xlen(queue) == 0
    bench.do(c.Complete(fence, b"result"))


def test_what_an_older_release_claimed_goes_ahead_no_more(bench: Bench) -> None:
    """It takes the entry out of the queue, and knows no other place of the job there."""
    assert isinstance(bench.harness, RedisHarness)
    assert isinstance(bench.store, RedisStore)
    prefix, server = bench.store.prefix, bench.harness.server
    held, evicted, elsewhere, waiting = bench.start(), bench.start(), bench.start(), bench.submit()
    for fence in (evicted, elsewhere):
        bench.do(c.Release(fence))
    _evict(bench, evicted.job_id)
    bench.do(c.HandOff(bench.take(), new_target("review")))
    ahead = f"{prefix}a:{new_target().queue}"
    server.zadd(ahead, {fence.job_id: number for number, fence in enumerate((held, evicted, elsewhere))})
    assert bench.take().job_id == waiting
    assert bench.claim() == []
    assert not server.exists(ahead)
    assert bench.take(agent="review").job_id == elsewhere.job_id
    bench.do(c.Complete(held, b"result"))


def test_lists_pass_over_them(bench: Bench) -> None:
    """... and pages are as long as they would be without them."""
    failed, asking, ready = ([bench.start(agent) for _ in range(3)] for agent in ("fail", "ask", "write"))
    for fence in failed:
        bench.do(c.Fail(fence, "boom", "attempts"))
    for fence in asking:
        bench.suspend(fence)
    for fences in (failed, asking, ready):
        _evict(bench, fences[1].job_id)
    left = {fences[at].job_id for fences in (failed, asking, ready) for at in (0, 2)}
    assert {row.id for row in bench.do(c.ListJobs(6))} == {row.id for row in bench.do(c.ListJobs(50))} == left
    assert {row.id for row in bench.do(c.ListJobs(2, dead=True))} == {failed[at].job_id for at in (0, 2)}
    found, page = set[str](), bench.do(c.ListJobs(2, state="failed"))
    while page:  # what else is on a page tells how far it came
        found |= {row.id for row in page if row.state == "failed"}
        page = bench.do(c.ListJobs(2, page[-1].id, state="failed"))
    assert found == {failed[at].job_id for at in (0, 2)}
    assert {row.id for row in bench.do(c.Inbox(2))} == {asking[at].job_id for at in (0, 2)}


def test_what_they_leave_can_be_cleared_away(bench: Bench) -> None:
    """Once they are older than what else is pruned: a young job ends the look through the list."""
    fence, other = bench.start(), bench.start()
    bench.save(fence)
    _evict(bench, fence.job_id)
    bench.do(c.DeleteThread(fence.job_id))
    assert bench.line(fence.job_id) == []
    bench.do(c.PruneJobs(0))
    assert isinstance(bench.harness, RedisHarness)
    assert isinstance(bench.store, RedisStore)
    assert bench.harness.server.zrange(f"{bench.store.prefix}jobs", 0, -1) == [other.job_id.encode()]


def _lose(bench: Bench, key: str) -> None:
    assert isinstance(bench.harness, RedisHarness)
    assert isinstance(bench.store, RedisStore)
    assert bench.harness.server.delete(bench.store.prefix + key) == 1


def test_a_thread_with_such_jobs_can_be_deleted(bench: Bench) -> None:
    """Also with those that it is not named after."""
    for _ in range(2):
        fence = bench.start(thread="run")
        bench.save(fence)
        bench.do(c.Complete(fence, b"result"))
    _evict(bench, fence.job_id)
    bench.run(bench.face().delete("run"))
    assert (bench.line("run"), bench.do(c.Threads()), bench.do(c.JobsOn("run"))) == ([], [], [])


@pytest.mark.parametrize("on_busy", ["reject", "queue", "interrupt", "rollback"])
def test_a_thread_that_such_a_job_had_is_free(on_busy: str, bench: Bench) -> None:
    _evict(bench, bench.start(thread="run").job_id)
    following = bench.submit(thread="run", on_busy=on_busy)
    assert bench.state(following) == ("submitted", "ready")
    bench.do(c.Complete(bench.take(), b"result"))


def test_a_child_whose_parent_has_lost_its_outcomes_is_redriven(bench: Bench) -> None:
    family = Family(bench, bench.start("parent"), 2, spare=1)
    family.spawn()
    family.end(0, "b")
    _lose(bench, f"f:{family.parent}")
    bench.do(c.Redrive(family.ids[0]))
    for delivery in bench.claim(2):
        family.complete(delivery)
    assert bench.job(family.parent).verdict == "met"


def test_groups_of_which_one_is_gone_are_listed(bench: Bench) -> None:
    for name in ("one", "two"):
        bench.do(c.JoinGroup(name))
    _lose(bench, f"h:{digest('group', 'one')}")
    assert [group.name for group in bench.do(c.ListGroups())] == ["two"]
    bench.do(c.JoinGroup("one"))
    assert len(bench.do(c.ListGroups())) == 2
