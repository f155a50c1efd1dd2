"""Dead letters: failed jobs are listed, and go on where they stopped when they are redriven."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.contract import ContractRef
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import dead as dead_letters
from batonpass.coordinator.parts.bases import Bases
from batonpass.coordinator.refusals import Strayed
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_job, new_target


def failed(bench: Bench, **more: Any) -> c.Fence:
    """A job that failed for good after a checkpoint and a record."""
    fence = bench.start(**more)
    bench.do(c.Save("", new_checkpoint(), fence=fence, records={"a": b"1"}))
    bench.do(c.Fail(fence, "boom", "attempts"))
    return fence


def dead(bench: Bench, limit: int = 50, before: str = "") -> list[str]:
    return [row.id for row in bench.do(c.ListJobs(limit, before, dead=True))]


def test_it_goes_on_where_it_stopped(bench: Bench) -> None:
    fence = failed(bench)
    tip = bench.job(fence.job_id).tip
    bench.clock.advance(5)
    bench.do(c.Redrive(fence.job_id))
    row = bench.job(fence.job_id)
    assert (row.state, row.reason, row.attempt, row.crashes, row.error, row.hop) == ("submitted", "ready", 1, 0, "", 0)
    assert (row.tip, row.updated) == (tip, bench.clock.now)
    assert bench.happened(row.id)[-1] == "job.redriven"
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.checkpoint.id, dict(delivery.journal)) == (tip, {"a": b"1"})
    assert delivery.job.token > fence.token


def test_what_it_is_told_is_added_to_its_journal(bench: Bench) -> None:
    """Once: the same again while it waits changes nothing."""
    fence = failed(bench)
    for _ in range(2):
        bench.do(c.Redrive(fence.job_id, records={"b": b"2"}))
    with bench.refused(bp.WrongState):
        bench.do(c.Redrive(fence.job_id, records={"b": b"3"}))
    [delivery] = bench.claim()
    assert dict(delivery.journal) == {"a": b"1", "b": b"2"}


def test_the_fence_of_before_is_over(bench: Bench) -> None:
    fence = failed(bench)
    bench.do(c.Redrive(fence.job_id))
    with bench.refused(bp.Fenced):
        bench.do(c.Save("", new_checkpoint(), fence=fence))


def test_another_payload(bench: Bench) -> None:
    fence = failed(bench)
    bench.do(c.Redrive(fence.job_id, new_target(payload=b"j[1]")))
    [delivery] = bench.claim()
    assert delivery.job.envelope == new_target(payload=b"j[1]").envelope


def test_another_agent(bench: Bench) -> None:
    fence = failed(bench)
    onward = new_target("review", contract=ContractRef("desk.draft", 2))
    bench.do(c.Redrive(fence.job_id, onward))
    [delivery] = bench.do(c.Claim("w", ((onward.queue, MINUTE),), (mint("l"),)))
    assert (delivery.job.id, delivery.job.agent, delivery.job.contract) == (fence.job_id, "review", onward.contract)
    assert delivery.checkpoint is not None


def test_what_was_answered_stays_answered(bench: Bench) -> None:
    fence = bench.start()
    bench.suspend(fence)
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    before = bench.job(fence.job_id)
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    bench.do(c.Redrive(fence.job_id))
    row = bench.job(fence.job_id)
    assert (row.question, row.answer, row.answered) == (before.question, b"yes", before.answered)


def test_another_checkpoint(bench: Bench) -> None:
    fence = failed(bench, thread="run")
    edited = new_checkpoint("edited", thread="run")
    bench.do(c.Save("run", edited, branch=True))
    bench.do(c.Redrive(fence.job_id, tip=edited.id))
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == edited.id


def test_only_if_its_last_checkpoint_is_the_threads_tip(bench: Bench) -> None:
    fence = failed(bench, thread="run")
    bench.do(c.Save("run", new_checkpoint("other", thread="run"), branch=True))
    with bench.nothing_changes(), bench.refused(Strayed):
        bench.do(c.Redrive(fence.job_id, at_tip=True))
    bench.do(c.Redrive(fence.job_id))
    bench.do(c.Save("", mine := new_checkpoint("mine", thread="run"), fence=(taken := bench.take())))
    bench.do(c.Fail(taken, "boom", "attempts"))
    for _ in range(2):
        bench.do(c.Redrive(fence.job_id, at_tip=True))
    assert bench.job(fence.job_id).tip == mine.id


def test_one_without_a_checkpoint_needs_no_tip(bench: Bench) -> None:
    job_id = bench.submit()
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    bench.do(c.Redrive(job_id, at_tip=True))
    assert bench.job(job_id).state == "submitted"


def test_the_thread_is_the_jobs_again(bench: Bench) -> None:
    fence = failed(bench, thread="run")
    bench.do(c.Redrive(fence.job_id))
    with bench.refused(bp.ThreadBusy):
        bench.do(c.Save("run", new_checkpoint(thread="run")))
    bench.do(c.Complete(bench.take(), b"done"))
    bench.do(c.Save("run", new_checkpoint(thread="run")))


def test_while_another_job_has_the_thread(bench: Bench) -> None:
    fence = failed(bench, thread="run")
    busy = bench.submit(thread="run")
    with bench.refused(bp.ThreadBusy, f"in use by job {busy}, and a failed job can only .* own thread: redrive it"):
        bench.do(c.Redrive(fence.job_id))
    assert bench.job(fence.job_id).state == "failed"


def test_said_again(bench: Bench) -> None:
    fence = failed(bench)
    bench.do(c.Redrive(fence.job_id))
    bench.do(c.Redrive(fence.job_id))
    assert bench.happened(fence.job_id).count("job.redriven") == 1
    assert len(bench.claim(9)) == 1


def test_records_of_a_redrive_reach_a_job_that_had_never_started(bench: Bench) -> None:
    job_id = bench.submit(terms=c.Terms(expires=5))
    bench.clock.advance(6)
    bench.do(c.Reap())
    bench.do(c.Redrive(job_id, records={"told": b"1"}))
    [delivery] = bench.claim()
    assert delivery.journal == {"told": b"1"}


@pytest.mark.parametrize("edited", [{"target": new_target(payload=b"j[1]")}, {"tip": mint("c")}])
def test_an_edit_is_not_lost_behind_another_ones_redrive(bench: Bench, edited: dict[str, Any]) -> None:
    """A repeated redrive changes nothing. But an edit of a job that waits already is refused, because it comes too
    late."""
    fence = failed(bench, thread="run")
    if "tip" in edited:
        edited = {"tip": (other := new_checkpoint("edited", thread="run")).id}
        bench.do(c.Save("run", other, branch=True))
    bench.do(c.Redrive(fence.job_id))
    with bench.nothing_changes(), bench.refused(bp.WrongState, "only a failed job can be redriven"):
        bench.do(c.Redrive(fence.job_id, **edited))
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    for _ in range(2):
        bench.do(c.Redrive(fence.job_id, **edited))
    assert bench.happened(fence.job_id).count("job.redriven") == 2


def test_one_that_has_failed_again_since_it_was_looked_at(bench: Bench) -> None:
    """It may be at another agent by now, and what was meant for the old hop would be delivered to the new one."""
    fence = failed(bench)
    call = dead_letters.redrive(Bases(None), Book(None), fence.job_id, None, None, None)
    command = next(call)
    while not isinstance(command, c.Redrive):
        command = call.send(bench.do(command))
    for _ in range(2):
        bench.do(c.Redrive(fence.job_id, token=fence.token))
    bench.do(c.HandOff(bench.take(), new_target("review")))
    bench.do(c.Fail(bench.take(agent="review"), "boom", "attempts"))
    with bench.nothing_changes(), bench.refused(bp.WrongState, "failed again"):
        bench.do(command)
    bench.do(c.Redrive(fence.job_id, token=bench.job(fence.job_id).token))


def test_said_again_when_it_runs_already(bench: Bench) -> None:
    fence = failed(bench)
    bench.do(c.Redrive(fence.job_id))
    bench.take()
    with bench.refused(bp.WrongState):
        bench.do(c.Redrive(fence.job_id))
    assert bench.job(fence.job_id).state == "working"


@pytest.mark.parametrize("state", ["submitted", "working", "completed", "canceled"])
def test_only_what_failed(bench: Bench, state: str) -> None:
    job_id = bench.submit()
    if state != "submitted":
        fence = bench.take()
        if state == "completed":
            bench.do(c.Complete(fence, b"done"))
        elif state == "canceled":
            bench.do(c.Cancel(job_id))
    with bench.refused(bp.WrongState):
        bench.do(c.Redrive(job_id))
    assert bench.job(job_id).state == state


def test_unknown(bench: Bench) -> None:
    with bench.refused(bp.NotFound):
        bench.do(c.Redrive(mint("j")))
    fence = failed(bench)
    with bench.refused(bp.NotFound):
        bench.do(c.Redrive(fence.job_id, tip=mint("c")))
    assert dead(bench) == [fence.job_id]


def test_its_key_does_not_age_while_it_runs_again(bench: Bench) -> None:
    job = new_job(key="k", key_ttl=MINUTE)
    bench.do(job)
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    bench.do(c.Redrive(job.job_id))
    bench.clock.advance(2 * MINUTE)
    assert bench.do(new_job(key="k", key_ttl=MINUTE)).id == job.job_id


def test_its_key_stays_forgotten_when_it_ends_again(bench: Bench) -> None:
    job = new_job(key="k", key_ttl=MINUTE)
    bench.do(job)
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    bench.clock.advance(2 * MINUTE)
    bench.do(c.Redrive(job.job_id))
    bench.do(c.Fail(bench.take(), "boom", "attempts"))
    assert bench.do(new_job(key="k", key_ttl=MINUTE)).id != job.job_id


def test_dead_letters_the_last_to_fail_first(bench: Bench) -> None:
    jobs: list[str] = []
    for _ in range(5):
        jobs.insert(0, failed(bench).job_id)
        bench.clock.advance(1)
    bench.submit()
    assert dead(bench, 2) == jobs[:2]
    assert dead(bench, 2, jobs[1]) == jobs[2:4]
    assert dead(bench, 9, jobs[3]) == jobs[4:]
    bench.do(c.Redrive(jobs[2]))
    bench.do(c.DeleteJob(jobs[0]))
    assert dead(bench) == [jobs[1], *jobs[3:]]


def test_a_dead_letter_with_a_newer_releases_reason_is_listed(bench: Bench) -> None:
    job_id = bench.submit()
    bench.do(c.Fail(bench.take(), "boom", "reason of tomorrow"))
    assert dead(bench) == [job_id]


def test_a_poisoned_job_is_one(bench: Bench) -> None:
    job_id = bench.submit()
    while bench.job(job_id).state != "failed":
        bench.take_again(job_id, lease=1)
        bench.clock.advance(2)
        bench.do(c.Reap())
    assert dead(bench) == [job_id]
    bench.do(c.Redrive(job_id))
    assert (bench.job(job_id).crashes, dead(bench)) == (0, [])
