"""The inbox of a store: which jobs ask, which answer is for which question, and what happens if nobody answers in
time."""

from __future__ import annotations

from typing import Any

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_target


def ask(bench: Bench, **late: object) -> str:
    """A new job that asks; its id."""
    fence = bench.start()
    bench.do(c.Suspend(fence, b"sure?", **late))  # type: ignore[arg-type]
    return fence.job_id


def pages(bench: Bench, limit: int) -> list[list[str]]:
    """The inbox, page by page."""
    found: list[list[str]] = []
    after, after_id = 0, ""
    while not found or found[-1]:
        rows = bench.do(c.Inbox(limit, after, after_id))
        found.append([row.id for row in rows])
        after, after_id = (rows[-1].asked, rows[-1].id) if rows else (0, "")
    return found[:-1]


def test_who_asks_is_listed_oldest_first_until_it_is_answered(bench: Bench) -> None:
    jobs: list[str] = []
    for n in range(7):
        jobs.append(ask(bench))
        bench.clock.advance(n % 2)  # several in one millisecond
    order = [row.id for row in sorted(map(bench.job, jobs), key=lambda row: (row.asked, row.id))]
    assert pages(bench, 500) == [order]
    assert pages(bench, 3) == [order[:3], order[3:6], order[6:]]  # between two of one millisecond, too
    answered, canceled = order.pop(3), order.pop(1)
    place = bench.job(answered)
    bench.do(c.AnswerJob(answered, b"yes"))
    bench.do(c.Cancel(canceled))
    assert pages(bench, 500) == [order]
    # A page goes on behind a question that was answered meanwhile.
    behind = [id_ for id_ in order if (bench.job(id_).asked, id_) > (place.asked, answered)]
    assert [row.id for row in bench.do(c.Inbox(9, place.asked, answered))] == behind
    assert bench.do(c.Inbox(1, 2**50, mint("j"))) == []


def test_an_answer_to_an_earlier_question_is_not_taken_for_this_one(bench: Bench) -> None:
    job = ask(bench)
    first = bench.job(job).asked
    bench.do(c.AnswerJob(job, b"yes", first))
    bench.do(c.Suspend(bench.take(), b"really?"))  # in the same millisecond
    second = bench.job(job).asked
    assert second > first
    with bench.refused(bp.WrongState, f"no longer asks {job}.{first}, but {job}.{second}"):
        bench.do(c.AnswerJob(job, b"no", first))
    with bench.nothing_changes():  # a retry of what was taken
        bench.do(c.AnswerJob(job, b"yes", first))
    bench.do(c.AnswerJob(job, b"no", second))
    [delivery] = bench.claim()
    assert (delivery.job.question, delivery.job.answer) == (b"really?", b"no")


def test_an_answer_said_again_after_the_job_was_handed_off(bench: Bench) -> None:
    job = ask(bench)
    bench.do(c.AnswerJob(job, b"yes"))
    bench.do(c.HandOff(bench.take(), new_target("review")))
    with bench.nothing_changes():
        bench.do(c.AnswerJob(job, b"yes"))
    with bench.refused(bp.WrongState, "it has no open question"):
        bench.do(c.AnswerJob(job, b"no"))


def test_a_question_without_a_timeout_waits_for_ever(bench: Bench) -> None:
    job = ask(bench, otherwise=b"no", escalation="9 lead")
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    bench.clock.advance(100 * MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.state(job) == ("input_required", "question")


def test_the_default_is_taken_when_the_time_is_over(bench: Bench) -> None:
    job = ask(bench, timeout=MINUTE, otherwise=b"no", assignee="ann")
    assert bench.do(c.Reap()) == c.Reaped(0, MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert (bench.happened(job)[-1], bench.do(c.Inbox())) == ("job.answered", [])
    with bench.refused(bp.WrongState, "it has no open question"):
        bench.do(c.AnswerJob(job, b"yes"))
    [delivery] = bench.claim()
    assert (delivery.job.answer, delivery.job.answered) == (b"no", f"{delivery.job.asked} default")
    bench.do(c.Suspend(fence_of(delivery), b"really?"))
    row = bench.job(job)  # nothing of the question before is left
    assert (row.assignee, row.otherwise, row.due) == ("", b"", 0)


def test_an_answer_in_time_ends_the_time(bench: Bench) -> None:
    job = ask(bench, timeout=MINUTE, otherwise=b"no")
    bench.clock.advance(MINUTE)
    bench.do(c.AnswerJob(job, b"yes"))  # late, but nobody has looked yet
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    [delivery] = bench.claim()
    assert delivery.job.answer == b"yes"


def test_an_unanswered_question_escalates_and_then_the_job_continues(bench: Bench) -> None:
    """To anybody, too, which is who a question is for that names nobody."""
    job = ask(bench, timeout=MINUTE, assignee="ann", escalation=f"{2 * MINUTE} lead\n{MINUTE} \n{MINUTE} the boss")
    for name, wait in (("lead", 2 * MINUTE), ("", MINUTE), ("the boss", MINUTE)):
        bench.clock.advance(bench.do(c.Reap()).next_due)
        assert bench.do(c.Reap()) == c.Reaped(0, wait)
        [row] = bench.do(c.Inbox())
        assert (row.assignee, row.due - bench.clock.now, bench.happened(job)[-1]) == (name, wait, "job.escalated")
        assert bench.do(c.Events(subject=job))[-1].fields.get("assignee") == (name or None)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(1, -1)
    assert (bench.happened(job)[-1], bench.do(c.Inbox())) == ("job.unanswered", [])
    [delivery] = bench.claim()
    assert (delivery.job.answer, delivery.job.answered) == (b"", f"{delivery.job.asked} timeout")
    # Given up for that, it is asked anew when it is redriven.
    bench.do(c.Fail(fence_of(delivery), "nobody", "unanswered"))
    bench.do(c.Redrive(job))
    assert bench.job(job).answered == ""


def test_a_question_asked_again_goes_on_as_it_was(bench: Bench) -> None:
    """Whose answer was wrong gets no more time, and those who come next are not put off."""
    late: dict[str, Any] = {
        "assignee": "ann",
        "timeout": MINUTE,
        "otherwise": b"no",
        "escalation": f"{2 * MINUTE} lead\n{MINUTE} boss",
    }
    job = ask(bench, **late)
    start = bench.clock.now
    ends = {MINUTE: "lead", 3 * MINUTE: "boss", 4 * MINUTE: ""}
    name = "ann"
    for end, following in ends.items():
        for question in (b"sure?", b"sure??"):
            bench.clock.advance(1000)
            bench.do(c.AnswerJob(job, question))
            bench.do(c.Suspend(bench.take(), question, **late, again=True))
            [row] = bench.do(c.Inbox())
            assert (row.assignee, row.due - start) == (name, end)
            told = bench.do(c.Events(subject=job))[-1].fields
            assert (told["assignee"], int(told["due"])) == (row.assignee, row.due)
        bench.clock.advance(start + end - bench.clock.now)
        bench.do(c.Reap())
        name = following
    assert bench.take()
    assert (bench.job(job).answer, bench.job(job).answered.split()[1]) == (b"no", "default")


def test_a_question_asked_again_of_which_no_time_is_known_begins_anew(bench: Bench) -> None:
    """As one that has no time, or whose answer an older release has stored."""
    job = ask(bench, assignee="ann")
    bench.do(c.AnswerJob(job, b"yes"))
    bench.do(c.Suspend(bench.take(), b"sure?", assignee="bob", timeout=MINUTE, escalation="9 lead", again=True))
    [row] = bench.do(c.Inbox())
    assert (row.assignee, row.due - bench.clock.now, row.escalation) == ("bob", MINUTE, "9 lead")


def test_another_question_has_its_own_time(bench: Bench) -> None:
    job = ask(bench, assignee="ann", timeout=MINUTE, escalation="9 lead")
    bench.do(c.AnswerJob(job, b"yes"))
    bench.clock.advance(1000)
    bench.do(c.Suspend(bench.take(), b"really?", assignee="bob", timeout=MINUTE))
    [row] = bench.do(c.Inbox())
    assert (row.assignee, row.due - bench.clock.now, row.escalation) == ("bob", MINUTE, "")


def test_a_canceled_question_has_no_time(bench: Bench) -> None:
    job = ask(bench, timeout=MINUTE)
    bench.do(c.Cancel(job))
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()) == c.Reaped(0, -1)
    assert bench.state(job) == ("canceled", "")
