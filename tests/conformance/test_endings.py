"""What ends a delivery does all of it in one commit, and answers the same when it is said again."""

from __future__ import annotations

from typing import Any

import pytest

from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.refusals import Ungrounded
from batonpass.coordinator.snapshots import draft
from tests.harness.bench import Bench, new_checkpoint, new_job, new_target
from tests.harness.children import Family
from tests.harness.places import large


def test_hand_off(bench: Bench) -> None:
    fence = bench.start(thread="run")
    bench.do(c.Record(fence, {"a": b"1"}))
    bench.clock.advance(7)
    last, onward = new_checkpoint(thread="run", step="last"), new_target("review", b'j{"n":2}')
    bench.do(c.HandOff(fence, onward, last))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.agent, row.queue) == ("submitted", "ready", "review", onward.queue)
    assert (row.hop, row.attempt, row.crashes, row.token) == (1, 1, 0, fence.token)
    assert (row.lease, row.worker, row.lease_until) == ("", "", 0)
    assert (row.envelope, row.tip, row.updated) == (onward.envelope, last.id, bench.clock.now)
    assert bench.happened(row.id)[-2:] == ["checkpoint.saved", "job.handed_off"]
    event = bench.do(c.Events(subject=row.id))[-1].fields
    assert (event["agent"], event["sender"], event["hop"], event["checkpoint"]) == ("review", "write", "1", last.id)
    assert bench.claim() == []
    [delivery] = bench.claim(agent="review")
    assert delivery.checkpoint is not None
    assert (delivery.checkpoint.id, dict(delivery.journal)) == (last.id, {})


def test_hand_off_to_itself(bench: Bench) -> None:
    """A job may visit an agent twice."""
    fence = bench.start()
    bench.do(c.HandOff(fence, new_target("write")))
    [delivery] = bench.claim()
    assert (delivery.job.id, delivery.job.hop) == (fence.job_id, 1)


def test_hand_off_forgets_the_answer_and_the_error_of_the_hop_before(bench: Bench) -> None:
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    fence = bench.take()
    bench.do(c.Fail(fence, "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    bench.do(c.HandOff(bench.take(), new_target("review")))
    row = bench.job(fence.job_id)
    assert (row.question, row.answer, row.error, row.attempt) == (b"", b"", "", 1)


def test_complete(bench: Bench) -> None:
    fence = bench.start(thread="run")
    bench.do(c.Record(fence, {"a": b"1"}))
    bench.clock.advance(7)
    last = new_checkpoint(thread="run")
    bench.do(c.Complete(fence, b"result", last))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.result, row.tip) == ("completed", "", b"result", last.id)
    assert (row.lease, row.worker, row.lease_until, row.ready) == ("", "", 0, 0)
    assert row.updated == bench.clock.now
    assert bench.happened(row.id)[-2:] == ["checkpoint.saved", "job.completed"]
    assert bench.tip("run") == last.id
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    bench.submit(thread="run")


@pytest.mark.parametrize("end", ["complete", "reject", "cancel", "fail", "release"])
def test_what_it_noted_goes_with_it_unless_it_may_go_on(bench: Bench, end: str) -> None:
    fence = bench.start()
    bench.do(c.Record(fence, {"a": b"a note"}))
    if end == "complete":
        bench.do(c.Complete(fence, b"result"))
    elif end == "cancel":
        bench.do(c.Cancel(fence.job_id))
    elif end == "release":
        bench.do(c.Release(fence))
    else:
        bench.do(c.Fail(fence, "boom", "", state="rejected" if end == "reject" else "failed"))
    assert ("a note" in str(bench.harness.dump())) == (end in ("fail", "release"))


@pytest.mark.parametrize("end", ["hand off", "complete", "suspend", "sleep", "spawn"])
def test_without_its_last_checkpoint_it_does_not_end(bench: Bench, end: str) -> None:
    """Here what that shares with the one before it is gone."""
    fence = bench.start()
    snapshot = Snapshot(step="last", state=large("a"))
    before = draft(snapshot, thread=fence.job_id, agent="write")
    last = draft(snapshot, thread=fence.job_id, agent="write", base=before.nodes).new
    ends: dict[str, c.Command[Any]] = {
        "hand off": c.HandOff(fence, new_target("review"), last),
        "complete": c.Complete(fence, b"result", last),
        "suspend": c.Suspend(fence, b"question", last),
        "sleep": c.Sleep(fence, 1, last),
        "spawn": Family(bench, fence, 1).spawning(checkpoint=last),
    }
    with bench.refused(Ungrounded):
        bench.do(ends[end])


def test_a_result_takes_the_error_of_an_earlier_attempt_away(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Fail(fence, "boom", "", retry_in=1))
    bench.clock.advance(1)
    bench.do(c.Reap())
    bench.do(c.Complete(bench.take(), b"result"))
    assert bench.job(fence.job_id).error == ""


@pytest.mark.parametrize(
    ("state", "reason", "event"), [("failed", "attempts", "job.failed"), ("rejected", "rejected", "job.rejected")]
)
def test_fail_for_good(bench: Bench, state: str, reason: str, event: str) -> None:
    fence = bench.start(thread="run")
    saved = bench.save(fence, thread="run")
    bench.do(c.Fail(fence, "boom", reason, None, state))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.error, row.tip) == (state, reason, "boom", saved)
    assert (row.lease, row.worker, row.lease_until) == ("", "", 0)
    assert bench.happened(row.id)[-1] == event
    told = bench.do(c.Events(subject=row.id))[-1].fields
    assert (told["reason"], told["error"]) == (reason, "boom")
    assert bench.claim() == []
    bench.submit(thread="run")


def test_suspend(bench: Bench) -> None:
    fence = bench.start(thread="run")
    last = new_checkpoint(thread="run")
    bench.do(c.Suspend(fence, b"sure?", last))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.question, row.answer) == ("input_required", "question", b"sure?", b"")
    assert (row.lease, row.worker, row.lease_until, row.tip) == ("", "", 0, last.id)
    assert bench.happened(row.id)[-2:] == ["checkpoint.saved", "job.suspended"]
    assert bench.claim() == []
    assert bench.do(c.Reap()) == c.Reaped(0, -1)


def test_release(bench: Bench) -> None:
    fence = bench.start()
    saved = bench.save(fence, thread=fence.job_id, records={"a": b"1"})
    bench.do(c.Release(fence))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.attempt, row.crashes, row.hop) == ("submitted", "ready", 1, 0, 0)
    assert bench.happened(row.id)[-1] == "job.released"
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.checkpoint.id, dict(delivery.journal)) == (saved, {"a": b"1"})


def test_a_lost_reply(bench: Bench) -> None:
    """Each ending said again is answered as the first time, and has happened once."""
    fences = [bench.start() for _ in range(8)]
    endings = [
        c.HandOff(fences[0], new_target("review"), new_checkpoint()),
        c.Complete(fences[1], b"result", new_checkpoint()),
        c.Fail(fences[2], "boom", "attempts"),
        c.Fail(fences[3], "boom", "", retry_in=1),
        c.Fail(fences[4], "no", "rejected", None, "rejected"),
        c.Suspend(fences[5], b"sure?", new_checkpoint()),
        c.Release(fences[6]),
        c.Sleep(fences[7], 1, new_checkpoint()),
    ]
    for ending in endings:
        first = bench.do(ending)
        with bench.nothing_changes():
            assert bench.do(ending) == first
    bench.do(c.AnswerJob(fences[5].job_id, b"yes"))
    with bench.nothing_changes():
        assert bench.do(c.AnswerJob(fences[5].job_id, b"yes")) is None


def test_a_lost_reply_when_the_next_worker_is_at_it(bench: Bench) -> None:
    fence = bench.start()
    ending = c.HandOff(fence, new_target("review"))
    bench.do(ending)
    bench.take(agent="review")
    with bench.nothing_changes():
        bench.do(ending)


@pytest.mark.one_partition
def test_jobs_do_not_mix(bench: Bench) -> None:
    jobs = [bench.do(new_job(thread=f"run-{n}")).id for n in range(3)]
    fences = [bench.take() for _ in jobs]
    saved = [bench.save(fence, thread="x") for fence in fences]
    bench.do(c.Complete(fences[1], b"result"))
    assert [bench.job(job_id).state for job_id in jobs] == ["working", "completed", "working"]
    assert [bench.tip(f"run-{n}") for n in range(3)] == saved
