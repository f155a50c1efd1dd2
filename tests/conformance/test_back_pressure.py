"""Back-pressure: an agent takes only so much, and whoever gives it more is told. What is there already is never
refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import book
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, NOTES, Bench, new_job, new_target

QUEUES = tuple(new_target(priority=band).queue for band in (1, 0, -1))
ONE, TWO = (c.Terms(most=most, counted=QUEUES) for most in (1, 2))


class Notes(bp.Contract, name=NOTES.name, version=NOTES.version):
    text: str = ""


app = bp.App("desk")


@app.agent("write", accepts=Notes, returns=Notes, max_waiting=2, max_payload=50)
def write(notes: Notes) -> Notes:
    return notes


@pytest.mark.one_partition
def test_a_full_agent(bench: Bench) -> None:
    first = new_job(terms=TWO, key="k")
    bench.do(first)
    urgent = bench.submit(terms=c.Terms(priority=1, most=2, counted=QUEUES))
    with bench.refused(bp.Overloaded, "'write' has 2 deliveries waiting.*max_waiting"):
        bench.submit(terms=TWO, key="later")
    with bench.nothing_changes():
        assert bench.submit(terms=TWO, key="k") == first.job_id, "it was taken before"
    bench.do(c.Cancel(urgent))
    later = new_job(terms=TWO, key="later")
    assert bench.do(later).id == later.job_id, "the key was not used up by what was refused"
    bench.do(c.Cancel(later.job_id))
    assert bench.take().job_id == first.job_id
    fence = bench.start("review")
    assert bench.submit(terms=TWO)
    assert bench.submit(terms=TWO)
    bench.do(c.HandOff(fence, new_target()))
    assert bench.state(fence.job_id) == ("submitted", "ready"), "handoffs are never refused"
    with bench.refused(bp.Overloaded):
        bench.submit(terms=TWO)


@pytest.mark.one_partition
def test_what_nobody_may_start_any_more_waits_until_it_has_ended(bench: Bench) -> None:
    """... also when those before and behind it are taken."""
    before = [bench.submit() for _ in range(2)]
    expiring = bench.submit(terms=c.Terms(expires=MINUTE))
    behind = bench.submit()
    bench.clock.advance(MINUTE)
    assert [delivery.job.id for delivery in bench.claim(9)] == [*before, behind]
    with bench.refused(bp.Overloaded):
        bench.submit(terms=ONE)
    bench.do(c.Reap())
    assert bench.state(expiring) == ("failed", "expired")
    assert bench.submit(terms=ONE)


@pytest.mark.one_partition
def test_what_was_taken_waits_no_more_and_what_stands_in_line_counts_once(bench: Bench) -> None:
    lane = "a" * 32
    target = replace(new_target(), lane=lane)
    for taken in (1, 0):
        bench.do(replace(new_job(), target=target))
        asked = c.Claim("w", ((target.queue, MINUTE),), (mint("l"),), {target.queue: c.Limits(lane, 1)})
        assert len(bench.do(asked)) == taken
    bench.do(replace(new_job(terms=TWO), target=target))
    with bench.refused(bp.Overloaded):
        bench.do(replace(new_job(terms=TWO), target=target))
    others = [bench.submit("review") for _ in range(2)]
    assert [delivery.job.id for delivery in bench.claim(2, agent="review")] == others
    full = c.Terms(most=1, counted=(new_target("review").queue,))
    assert bench.submit("review", terms=full)


@pytest.mark.one_partition
@pytest.mark.parametrize("known", ["here", "recorded"])
def test_what_the_agent_declares(bench: Bench, known: str) -> None:
    face = bench.face(app)
    if known == "recorded":
        bench.run(face.declare(app))
        face = bench.face(bp.App("elsewhere"))
    for _ in range(2):
        bench.run(face.submit("write", {"text": "short"}, priority="low"))
    with bench.refused(bp.Overloaded):
        bench.run(face.submit("write", {"text": "short"}))
    with bench.refused(bp.Refused, r"'write' has 6\d bytes, more than its max_payload of 50: keep it in a checkpoint"):
        bench.run(face.submit("write", {"text": "x" * 50}))


@pytest.mark.one_partition
def test_another_bound_counts_for_clients_that_know_the_record(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    face, elsewhere = bench.face(app), bench.face(bp.App("elsewhere"))

    def declared(most: int) -> None:
        other = bp.App("desk")
        other.agent("write", accepts=Notes, returns=Notes, max_waiting=most)(write.fn)
        bench.run(face.declare(other))

    monkeypatch.setattr(book, "_FRESH", 0.0)
    for most in (3, 4, 2):
        declared(most)
        waiting = len(bench.do(c.ListJobs()))
        for _ in range(most - waiting):
            bench.run(elsewhere.submit("write", {"text": "short"}))
        with bench.refused(bp.Overloaded, f"{most} deliveries waiting"):
            bench.run(elsewhere.submit("write", {"text": "short"}))


async def test_a_large_handoff_is_a_dead_letter() -> None:
    """The sender is told, and its job is kept."""
    chain = bp.App("chain")

    @chain.agent("first", accepts=Notes, hands_to={"second": Notes})
    async def first(notes: Notes, ctx: bp.Context) -> bp.Handoff[Notes]:
        return ctx.hand_off("second", Notes(text="x" * 100))

    @chain.agent("second", accepts=Notes, returns=Notes, max_payload=100)
    async def second(notes: Notes) -> Notes:
        return notes

    async with bp.connect("memory://", app=chain) as coordinator, chain.worker(coordinator):
        job = await coordinator.submit("first", Notes())
        with pytest.raises(bp.JobFailed, match="max_payload of 100") as failed:
            await job.result(timeout=20)
        assert failed.value.reason == "refused"


@pytest.mark.parametrize("options", [{"max_waiting": 0}, {"max_payload": 0}])
def test_bounds_that_can_not_be_meant(options: dict[str, int]) -> None:
    with pytest.raises(bp.BadSetup, match=r"agent 'x'.*=0"):
        bp.App("x").agent("x", accepts=Notes, returns=Notes, **options)(write.fn)  # type: ignore[call-overload]
