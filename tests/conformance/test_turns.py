"""Two jobs on one thread: the second is refused, waits for its turn, or takes the first one's place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls import waits
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_job

WAITS = ("submitted", "thread_busy")


def crash(bench: Bench, fence: c.Fence) -> None:
    for _ in range(POISON - 1):
        bench.do(c.Release(fence, "it died"))
        fence = bench.take_again(fence.job_id)
    bench.do(c.Release(fence, "it died"))


def fall_silent(bench: Bench, fence: c.Fence) -> None:
    for _ in range(POISON - 1):
        bench.clock.advance(MINUTE)
        bench.do(c.Reap())
        bench.take_again(fence.job_id)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())


ENDS: dict[str, Callable[[Bench, c.Fence], object]] = {
    "complete": lambda bench, fence: bench.do(c.Complete(fence, b"result")),
    "fail": lambda bench, fence: bench.do(c.Fail(fence, "boom", "attempts")),
    "reject": lambda bench, fence: bench.do(c.Fail(fence, "no", "no", state="rejected")),
    "cancel": lambda bench, fence: bench.do(c.Cancel(fence.job_id)),
    "crash": crash,
    "silence": fall_silent,
}


def test_the_next_one_begins_when_a_job_ends_from_what_that_left(bench: Bench) -> None:
    for thread, end in ENDS.items():
        fence = bench.start(thread=thread)
        second, third = [bench.submit(agent, thread=thread, on_busy="queue") for agent in ("review", "write")]
        assert bench.state(second) == bench.state(third) == WAITS
        assert bench.claim(agent="review") == []
        tip = bench.save(fence)
        end(bench, fence)
        assert bench.happened(fence.job_id)[-1] in ("job.completed", "job.failed", "job.rejected", "job.canceled")
        row = bench.job(second)
        assert (row.state, row.reason, row.tip, row.began) == ("submitted", "ready", tip, tip)
        assert bench.state(third) == WAITS
        taken = bench.take(agent="review")
        assert taken.job_id == second
        last = new_checkpoint()
        bench.do(c.Complete(taken, b"result", last))
        assert (bench.state(third), bench.job(third).tip) == (("submitted", "ready"), last.id)
        assert [row.id for row in bench.line(thread)] == [last.id, tip]
        bench.do(c.Complete(bench.take(), b"result"))
        assert bench.save(None, thread=thread) == bench.tip(thread)


def test_a_line_waits_for_answers_retries_and_redeliveries(bench: Bench) -> None:
    fence = bench.start(thread="run")
    second = bench.submit(thread="run", on_busy="queue")
    bench.suspend(fence)
    assert bench.state(second) == WAITS
    bench.do(c.AnswerJob(fence.job_id, b"yes"))
    fence = bench.take()
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    assert bench.state(second) == WAITS
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    fence = bench.take()
    assert fence.job_id != second
    bench.do(c.Complete(fence, b"result"))
    assert bench.state(second) == ("submitted", "ready")


def test_who_runs_and_who_waits_may_run_out_of_time_at_once(bench: Bench) -> None:
    fence = bench.start(thread="run", terms=c.Terms(within=MINUTE))
    late = bench.submit(thread="run", on_busy="queue", terms=c.Terms(expires=MINUTE))
    later = bench.submit(thread="run", on_busy="queue", terms=c.Terms(expires=2 * MINUTE))
    last = bench.submit(thread="run", on_busy="queue")
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 2
    assert (bench.state(fence.job_id), bench.state(late)) == (("failed", "deadline"), ("failed", "expired"))
    assert (bench.state(later), bench.state(last)) == (("submitted", "ready"), WAITS)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.take().job_id == last


def test_who_waits_may_leave_the_line(bench: Bench) -> None:
    fence = bench.start(thread="run")
    second, third = [bench.submit(thread="run", on_busy="queue", key=key) for key in "ab"]
    with bench.refused(bp.WrongState):
        bench.do(c.DeleteJob(second))
    assert bench.do(c.Cancel(second)) is True
    assert (bench.state(second), bench.state(third)) == (("canceled", ""), WAITS)
    with bench.refused(bp.ThreadBusy, fence.job_id):
        bench.submit(thread="run")
    bench.do(c.DeleteJob(second))
    bench.do(c.Complete(fence, b"result"))
    assert bench.take().job_id == third


def test_a_waiting_job_keeps_its_time(bench: Bench) -> None:
    """It is in the line from the beginning, and holds the thread from its turn on."""
    fence = bench.start(thread="run")
    late, soon, third = [bench.submit(thread="run", on_busy="queue", delay=n * MINUTE) for n in (3, 1, 0)]
    assert bench.do(c.Reap()) == c.Reaped(0, MINUTE)
    bench.clock.advance(MINUTE // 2)
    bench.do(c.Complete(fence, b"result"))
    assert [bench.state(job)[1] for job in (late, soon, third)] == ["scheduled", "thread_busy", "thread_busy"]
    bench.do(c.Cancel(late))
    assert bench.do(c.Reap()) == c.Reaped(0, MINUTE // 2)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 1
    assert bench.take().job_id == soon
    assert bench.state(third) == WAITS


def test_a_waiting_job_keeps_its_origin(bench: Bench) -> None:
    origin = bench.save(None, thread="run")
    bench.save(None, thread="run")
    fence = bench.start(thread="run")
    second = bench.submit(thread="run", on_busy="queue", origin=origin)
    bench.save(fence)
    bench.do(c.Complete(fence, b"result"))
    mine = bench.save(bench.take())
    assert bench.job(second).began == origin
    assert [row.commit.split()[:2] for row in bench.line("run") if row.id == mine] == [["3", origin]]


def test_on_a_free_thread_nothing_waits(bench: Bench) -> None:
    for on_busy in ("queue", "interrupt", "rollback"):
        tip = bench.save(None, thread=on_busy)
        row = bench.job(bench.submit(thread=on_busy, on_busy=on_busy))
        assert (row.state, row.reason, row.tip, row.began) == ("submitted", "ready", tip, tip)


def working(bench: Bench) -> c.Fence:
    return bench.start(thread="run")


def asking(bench: Bench) -> c.Fence:
    fence = bench.start(thread="run")
    tip = bench.save(fence)
    bench.suspend(fence)
    assert bench.job(fence.job_id).tip == tip
    return fence


def scheduled(bench: Bench) -> c.Fence:
    return c.Fence(bench.submit(thread="run", delay=MINUTE), 1, "")


@pytest.mark.parametrize(
    ("reach", "on_busy"),
    [(working, "interrupt"), (working, "rollback"), (asking, "rollback"), (scheduled, "interrupt")],
)
def test_a_job_takes_the_place_of_another(bench: Bench, reach: Callable[[Bench], c.Fence], on_busy: str) -> None:
    start = bench.save(None, thread="run")
    first = reach(bench)
    behind = bench.submit("review", thread="run", on_busy="queue")
    if reach is working:
        bench.save(first)
    tip = bench.tip("run")
    command = new_job(thread="run", key="k", on_busy=on_busy)
    second = bench.do(command).id
    assert bench.state(first.job_id) == ("canceled", "")
    assert bench.happened(first.job_id)[-1] == "job.canceled"
    assert [row.fields["by"] for row in bench.do(c.Events(subject=first.job_id)) if "by" in row.fields] == [second]
    with bench.refused(bp.Fenced):
        bench.save(first)
    with bench.nothing_changes():  # neither after a lost reply nor for the same key it takes its own place
        assert bench.do(command).id == second
        assert bench.submit(thread="run", key="k", on_busy=on_busy) == second
    expected = start if on_busy == "rollback" else tip
    assert bench.job(second).tip == bench.job(second).began == expected
    assert bench.state(behind) == WAITS
    steps = len(bench.line("run"))
    mine = bench.save(bench.take())
    assert bench.line("run")[0].commit.split()[:2] == [str(steps), expected]
    assert tip in [row.id for row in bench.line("run")]
    bench.do(c.Cancel(second))
    assert (bench.job(behind).tip, bench.claim(agent="review")[0].job.id) == (mine, behind)


def test_a_rollback_to_the_very_beginning(bench: Bench) -> None:
    """The canceled job's checkpoints become a branch, and the next job does not begin from them."""
    fence = bench.start(thread="run")
    old = bench.save(fence)
    bench.submit(thread="run", on_busy="rollback")
    bench.do(c.Complete(bench.take(), b"result"))
    assert bench.job(bench.submit(thread="run")).tip == ""
    assert [row.id for row in bench.line("run")] == [old]


def test_a_rollback_to_an_origin_on_another_thread(bench: Bench) -> None:
    origin = bench.save(None, thread="other")
    fence = bench.start(thread="run", origin=bench.save(None, thread="run"))
    own = bench.submit(origin=origin)
    mine = bench.save(bench.take())
    second = bench.submit(thread=own, on_busy="rollback")
    assert bench.job(second).tip == origin
    bench.do(c.Complete(bench.take(), b"result"))
    assert bench.job(bench.submit(thread=own)).tip == mine
    assert bench.state(fence.job_id) == ("working", "")


def test_a_rollback_to_what_is_gone_is_refused(bench: Bench) -> None:
    start = bench.save(None, thread="run")
    fence = bench.start(thread="run")
    bench.save(fence)
    bench.do(c.Expire(start))
    with bench.refused(bp.NotFound, start):
        bench.submit(thread="run", on_busy="rollback")


def test_a_job_that_had_its_turn_is_not_ended_by_one_that_waited(bench: Bench) -> None:
    """A failed job can be redriven only when the thread is free again."""
    fence = bench.start(thread="run")
    second = bench.submit(thread="run", on_busy="queue")
    bench.do(c.Fail(fence, "boom", "attempts"))
    with bench.refused(bp.ThreadBusy, second):
        bench.do(c.Redrive(fence.job_id))
    with bench.refused(bp.ThreadBusy, second):
        bench.do(c.DeleteThread("run"))
    bench.do(c.Complete(bench.take(), b"result"))
    bench.do(c.Redrive(fence.job_id))
    assert bench.take().job_id == fence.job_id


@pytest.mark.parametrize("how", ["prune", "drop", "expire", "ttl"])
def test_what_one_in_line_goes_on_from_is_kept(bench: Bench, how: str) -> None:
    """Its origin, while it waits for the thread that this is on."""
    origin = bench.save(None, thread="run", ttl=MINUTE if how == "ttl" else 0)
    other, running = bench.save(None, thread="run"), bench.start(thread="run", lease=100 * MINUTE)
    waiting = bench.submit("review", thread="run", on_busy="queue", origin=origin)
    bench.save(running)
    if how == "prune":
        assert bench.do(c.Prune("run", keep_last=1)).count == 1
    elif how == "drop":
        assert bench.do(c.Drop("run", (origin, other))).count == 1
    elif how == "ttl":
        bench.clock.advance(2 * MINUTE)
        bench.do(c.Reap())
    else:
        with bench.refused(bp.ThreadBusy, waiting):
            bench.do(c.Expire(origin))
    bench.do(c.Complete(running, b"result"))
    [delivery] = bench.claim(agent="review")
    assert delivery.checkpoint is not None
    assert (delivery.job.id, delivery.checkpoint.id) == (waiting, origin)


def test_who_has_the_thread_and_the_line_behind_it(bench: Bench) -> None:
    assert bench.do(c.ReadTurns("mine", 9)) == []
    first, *line = [bench.submit(thread="mine", on_busy="queue") for _ in range(4)]
    bench.submit(thread="other")
    assert bench.do(c.ReadTurns("mine", 9)) == [first, *line]
    assert bench.do(c.ReadTurns("mine", 2)) == [first, *line[:2]]
    bench.do(c.Cancel(line[1]))
    bench.do(c.Cancel(first))
    assert bench.do(c.ReadTurns("mine", 9)) == [line[0], line[2]]
    last = bench.submit(thread="mine", on_busy="interrupt")
    assert bench.do(c.ReadTurns("mine", 9)) == [last, line[2]]


def test_a_place_in_a_long_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_IN_LINE", 5)
    first, *line = [bench.submit(thread="mine", on_busy="queue") for _ in range(8)]
    face = bench.face()
    has = f"its thread 'mine', which job {first} has until it ends (submitted at write)"
    for number, more in ((0, ""), (3, " (3 more in line before it)"), (6, " (at least 5 more in line before it)")):
        assert bench.run(face.job(line[number]).waits_for()) == has + more
