"""Submitting: a job, its first delivery and its event in one commit, and the same intent once."""

from __future__ import annotations

from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_job


def test_a_job_is_ready_for_its_agent(bench: Bench) -> None:
    command = new_job("write", payload='{"text": "x"}')
    row = bench.do(command)
    assert (row.id, row.thread, row.agent, row.contract) == (command.job_id, command.job_id, "write", "desk.notes@1")
    assert (row.state, row.reason, bool(row.ready)) == ("submitted", "ready", True)
    assert (row.hop, row.attempt, row.crashes, row.token, row.lease, row.tip) == (0, 1, 0, 0, "", "")
    assert row.envelope == command.target.envelope
    assert row.created == row.updated == bench.clock.now
    assert replace(bench.job(row.id), ready=0) == replace(row, ready=0)
    assert bench.happened(row.id) == ["job.submitted"]


def test_the_same_command_again_answers_with_the_same_job(bench: Bench) -> None:
    """The client did not get the reply and sends again: also after the job went on."""
    command = new_job()
    first = bench.do(command)
    with bench.nothing_changes():
        assert bench.do(command) == first
    fence = bench.take()
    with bench.nothing_changes():
        assert bench.do(command).token == fence.token


def test_the_same_key_answers_with_the_first_job_whatever_its_state(bench: Bench) -> None:
    first = bench.submit(key="ticket-1")
    with bench.nothing_changes():
        assert bench.submit(key="ticket-1") == first
    bench.do(c.Complete(bench.take(), b"result"))
    with bench.nothing_changes():
        assert bench.submit(key="ticket-1") == first


def test_the_same_key_with_another_payload_is_refused(bench: Bench) -> None:
    first = bench.submit(key="ticket-1", payload='{"n": 1}')
    with bench.refused(bp.KeyConflict, f"'ticket-1'.*{first}"):
        bench.submit(key="ticket-1", payload='{"n": 2}')


def test_keys_are_an_agents_own(bench: Bench) -> None:
    assert bench.submit("write", key="k") != bench.submit("review", key="k")


def test_a_key_can_be_used_again_some_time_after_the_jobs_end(bench: Bench) -> None:
    first = bench.submit(key="k", key_ttl=MINUTE)
    fence = bench.take()
    bench.clock.advance(10 * MINUTE)
    assert bench.submit(key="k") == first
    bench.do(c.Complete(fence, b"result"))
    bench.clock.advance(MINUTE - 1000)
    assert bench.submit(key="k") == first
    bench.clock.advance(2000)
    second = bench.submit(key="k", payload='{"n": 2}')
    assert second != first
    assert bench.submit(key="k", payload='{"n": 2}') == second
    assert bench.job(first).state == "completed"


def test_a_used_again_key_is_kept_until_its_new_job_has_ended(bench: Bench) -> None:
    bench.do(c.Cancel(bench.submit(key="k", key_ttl=MINUTE)))
    bench.clock.advance(2 * MINUTE)
    second = bench.submit(key="k", key_ttl=MINUTE)
    bench.clock.advance(10 * MINUTE)
    assert bench.submit(key="k") == second


def test_a_used_again_key_is_not_the_first_jobs_any_more(bench: Bench) -> None:
    first = bench.start(key="k", key_ttl=MINUTE)
    bench.do(c.Fail(first, "boom", "attempts"))
    bench.clock.advance(2 * MINUTE)
    second = bench.submit(key="k", key_ttl=MINUTE)
    bench.do(c.Redrive(first.job_id))
    [again] = [delivery for delivery in bench.claim(2) if delivery.job.id == first.job_id]
    bench.do(c.Complete(fence_of(again), b"result"))
    bench.clock.advance(10 * MINUTE)
    assert bench.submit(key="k") == second


def test_one_unended_job_on_a_thread(bench: Bench) -> None:
    first = bench.submit(thread="run")
    with bench.refused(bp.ThreadBusy, f"'run'.*{first}.* or submit with on_busy="):
        bench.submit(thread="run")
    bench.do(c.Cancel(first))
    assert bench.job(bench.submit(thread="run")).thread == "run"


def test_a_job_goes_on_from_its_threads_tip(bench: Bench) -> None:
    checkpoint = bench.save(None, thread="run")
    assert bench.job(bench.submit(thread="run")).tip == checkpoint


def test_a_job_goes_on_from_an_origin_in_another_thread(bench: Bench) -> None:
    origin = bench.save(None, {"n": 1}, thread="run")
    job_id = bench.submit(origin=origin)
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert (delivery.job.tip, delivery.checkpoint.id) == (origin, origin)
    first = bench.save(c.Fence(job_id, delivery.job.token, delivery.job.lease))
    [row] = bench.line(job_id)
    assert (row.id, row.commit.split()[:2]) == (first, ["0", origin])
    assert [row.id for row in bench.line("run")] == [origin]


def test_an_unknown_origin_is_refused(bench: Bench) -> None:
    with bench.refused(bp.NotFound, "there is no checkpoint"):
        bench.submit(origin=mint("c"))


def test_a_delayed_job_waits_for_its_time(bench: Bench) -> None:
    job_id = bench.submit(delay=MINUTE)
    assert bench.state(job_id) == ("submitted", "scheduled")
    assert bench.job(job_id).due == bench.clock.now + MINUTE
    assert bench.claim() == []
    bench.clock.advance(MINUTE - 1)
    assert bench.do(c.Reap()) == c.Reaped(0, 1)
    assert bench.claim() == []
    bench.clock.advance(1)
    assert bench.do(c.Reap()).moved == 1
    assert bench.state(job_id) == ("submitted", "ready")
    assert bench.take().job_id == job_id


@pytest.mark.parametrize("command", [c.ReadJob, c.Cancel, lambda job_id: c.AnswerJob(job_id, b"yes")])
def test_an_unknown_job_is_refused(bench: Bench, command: type[c.ReadJob]) -> None:
    with bench.refused(bp.NotFound, "there is no job"):
        bench.do(command(mint("j")))
