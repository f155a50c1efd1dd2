"""Pausing an agent: no claim takes a job of it until it is resumed. Everything else about the jobs goes on."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import PauseRow
from batonpass.coordinator.snapshots import from_ms
from tests.harness.bench import MINUTE, Bench, new_target
from tests.harness.children import Family


class Notes(bp.Contract, name="pausing.notes", version=1):
    pass


APP = bp.App("pausing")
research = APP.agent("research", accepts=Notes, returns=Notes)(lambda notes: notes)
APP.agent("edit", accepts=Notes, returns=Notes)(lambda notes: notes)


def pause(bench: Bench, agent: str = "write", reason: str = "") -> None:
    assert bench.do(c.PauseAgent(agent, reason)).now


def resume(bench: Bench, agent: str = "write") -> None:
    assert bench.do(c.ResumeAgent(agent)).now


def all_events(bench: Bench) -> list[dict[str, str]]:
    rows = bench.do(c.Events(which=c.Which(types=("batonpass.agent.*",)), limit=500))
    return [{name: value for name, value in row.fields.items() if name != "time"} for row in rows if row.fields]


def test_no_job_is_claimed_until_the_agent_goes_on(bench: Bench) -> None:
    waits = bench.submit()
    pause(bench)
    later = bench.submit()
    assert bench.claim(3) == []
    assert bench.claim(3, worker="came later") == []
    queues = ((new_target("write").queue, MINUTE), (new_target("review").queue, MINUTE))
    for order in (queues, queues[::-1]):  # the other agent's are not held up, and take nothing along
        others = {bench.submit("review") for _ in range(3)}
        found = bench.do(c.Claim("w", order, tuple(mint("l") for _ in range(6))))
        assert {each.job.id for each in found} == others
    assert bench.state(waits) == ("submitted", "ready")
    resume(bench)
    assert {each.job.id for each in bench.claim(3)} == {waits, later}


def test_each_change_is_told_once(bench: Bench) -> None:
    at = bench.clock.now
    assert bench.do(c.ResumeAgent("write")) == c.Changed(False, 0)
    assert bench.do(c.PauseAgent("write", "no model")) == c.Changed(True, at)
    bench.clock.advance(5)
    with bench.nothing_changes():
        assert bench.do(c.PauseAgent("write", "another")) == c.Changed(False, at)
    pause(bench, "review")
    assert bench.do(c.Pauses()) == [PauseRow("review", at + 5, True), PauseRow("write", at, True, "no model")]
    assert bench.do(c.ResumeAgent("write")) == c.Changed(True, at + 5)
    with bench.nothing_changes():
        assert bench.do(c.ResumeAgent("write")) == c.Changed(False, at + 5)
    assert bench.do(c.Pauses()) == [PauseRow("review", at + 5, True)]
    assert all_events(bench) == [
        {"type": "batonpass.agent.paused", "subject": "write", "agent": "write", "reason": "no model"},
        {"type": "batonpass.agent.paused", "subject": "review", "agent": "review"},
        {"type": "batonpass.agent.resumed", "subject": "write", "agent": "write"},
    ]


def test_changes_grow_if_the_clock_does_not(bench: Bench) -> None:
    first = bench.do(c.PauseAgent("write")).at
    bench.clock.advance(-MINUTE)
    assert bench.do(c.ResumeAgent("write")) == c.Changed(True, first + 1)
    assert bench.do(c.PauseAgent("write")) == c.Changed(True, first + 2)


@pytest.mark.one_partition
def test_a_partition_follows_the_latest_change(bench: Bench) -> None:
    """As one that is told by the first partition, in whatever order that reaches it."""
    bench.submit()
    assert bench.do(c.ResumeAgent("write", (), 7)).now
    with bench.nothing_changes():
        assert bench.do(c.PauseAgent("write", "", 6)) == c.Changed(False, 7)  # crossed on its way
        assert bench.do(c.ResumeAgent("write", (), 7)) == c.Changed(False, 7)
    assert bench.do(c.PauseAgent("write", "", 8)) == c.Changed(True, 8)
    assert bench.claim() == []
    assert all_events(bench) == []  # the first partition has them


def test_a_job_that_runs_goes_on_and_its_next_hop_waits(bench: Bench) -> None:
    fence, other = bench.start(), bench.start("review")
    pause(bench)
    assert bench.do(c.Heartbeat(((fence, MINUTE),))) == [""]
    bench.save(fence)
    bench.do(c.HandOff(fence, new_target("review")))
    bench.do(c.HandOff(other, new_target("write")))
    assert [each.job.id for each in bench.claim(2, agent="review")] == [fence.job_id]
    assert bench.claim() == []
    resume(bench)
    assert bench.take().job_id == other.job_id


def test_what_becomes_ready_meanwhile_waits(bench: Bench) -> None:
    """A retry, a delay, an answer, what a worker gives back, what a dead one had."""
    retried, released, dead, asked = (bench.start(lease=lease) for lease in (MINUTE, MINUTE, 10, MINUTE))
    scheduled = bench.submit(delay=10)
    pause(bench)
    bench.do(c.Fail(retried, "boom", "", retry_in=10))
    bench.do(c.Release(released))
    bench.suspend(asked)
    bench.do(c.AnswerJob(asked.job_id, b"yes"))
    bench.clock.advance(20)
    bench.do(c.Reap())
    jobs = {scheduled, *(fence.job_id for fence in (retried, released, dead, asked))}
    assert {bench.state(job) for job in jobs} == {("submitted", "ready")}
    assert bench.claim(9) == []
    resume(bench)
    assert {each.job.id for each in bench.claim(9)} == jobs


def test_expiry_and_deadlines_apply(bench: Bench) -> None:
    pause(bench)
    expiring = bench.submit(terms=c.Terms(expires=10))
    bound = bench.submit(terms=c.Terms(within=10))
    bench.clock.advance(20)
    bench.do(c.Reap())
    assert (bench.state(expiring), bench.state(bound)) == (("failed", "expired"), ("failed", "deadline"))


def test_waiting_jobs_are_canceled_redriven_and_run_now_as_ever(bench: Bench) -> None:
    failed = bench.start()
    bench.do(c.Fail(failed, "boom", "attempts"))
    ready, due = bench.submit(), bench.submit(delay=MINUTE)
    pause(bench)
    assert bench.do(c.Cancel(ready))
    assert bench.do(c.RunNow(due))
    bench.do(c.Redrive(failed.job_id))
    assert bench.claim(9) == []
    resume(bench)
    assert {each.job.id for each in bench.claim(9)} == {failed.job_id, due}


def test_children_wait_and_their_parent_for_them(bench: Bench) -> None:
    family = Family(bench, bench.start("review"), 2)
    pause(bench)
    family.spawn()
    assert bench.claim(9) == []
    assert bench.state(family.parent) == ("working", "waiting_children")
    resume(bench)
    assert len(bench.claim(9)) == 2


@pytest.mark.one_partition
def test_a_limited_agents_line_stands_still(bench: Bench) -> None:
    target = new_target()
    limits = {target.queue: c.Limits("0" * 32, concurrency=1)}

    def claim() -> list[str]:
        command = c.Claim("w", ((target.queue, MINUTE),), (mint("l"), mint("l")), limits)
        return [each.job.id for each in bench.do(command)]

    first, second = bench.submit(), bench.submit()
    assert claim() == [first]
    assert bench.state(second) == ("submitted", "limited")
    pause(bench)
    bench.do(c.Cancel(first))
    assert claim() == []
    resume(bench)
    assert claim() == [second]


def test_namespaces_are_apart(bench: Bench) -> None:
    pause(bench)
    with bench.beside("other") as other:
        assert other.do(c.Pauses()) == []
        job = other.submit()
        assert other.take().job_id == job


def test_jobs_and_agents_say_so(bench: Bench) -> None:
    face = bench.face(APP)
    bench.run(face.declare(APP))
    job, other = (bench.run(face.submit(agent, Notes())) for agent in (research, "edit"))
    assert bench.run(face.pause_agent(research, reason="no model ")) is True
    assert bench.run(face.pause_agent("research")) is False
    info, beside = bench.run(job.info()), bench.run(other.info())
    assert info.paused is not None
    assert (info.reason, info.paused.reason) == ("ready", "no model")
    assert info.paused.since == from_ms(bench.clock.now)
    assert beside.paused is None
    listed = {each.id: each.paused for each in bench.run(face.jobs())}
    assert listed == {job.id: info.paused, other.id: None}
    assert {each.name: each.paused for each in bench.run(face.agents())} == {"research": info.paused, "edit": None}
    with pytest.raises(bp.ResultTimeout, match=r"agent 'research' is paused since .* UTC: no model"):
        bench.run(job.result(timeout=0))
    assert info.as_dict()["paused"] == {"reason": "no model", "since": info.paused.since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert bench.run(face.resume_agent("research")) is True
    assert bench.run(face.resume_agent(research)) is False
    assert bench.run(job.info()).paused is None
    for misspelt in (face.pause_agent, face.resume_agent):
        with bench.refused(bp.UnknownAgent, match="reserch"):
            bench.run(misspelt("reserch"))
