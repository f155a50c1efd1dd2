"""Input that no store can keep is refused in our words, the same on each, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import batonpass as bp
from tests.harness.bench import Bench


class Note(bp.Contract, name="badinput.note"):
    text: str


desk = bp.App("badinput")


@desk.agent("keeper", accepts=Note, returns=Note)
def keeper(note: Note) -> Note:
    return note


NOTE = Note(text="x")
LATER = datetime.now(UTC) + timedelta(days=2)
HALF = "half a \ud83d character"  # a lone surrogate: no encoding has it


@pytest.mark.parametrize(
    "call",
    [
        lambda face: face.submit("keeper", NOTE, thread=HALF),
        lambda face: face.submit("keeper", NOTE, key=HALF),
        lambda face: face.submit("keeper", NOTE, key=""),
        lambda face: face.submit("keeper", {"text": HALF}),
        lambda face: face.submit("keeper", Note(text=HALF)),
        lambda face: face.latest(thread=HALF),
        lambda face: face.timeline(thread=HALF),
    ],
    ids=["thread", "key", "no key", "mapping", "contract", "latest", "timeline"],
)
def test_a_text_that_is_no_text(bench: Bench, call: Callable[[Any], Any]) -> None:
    with bench.refused(bp.Refused):
        bench.run(call(bench.face(desk)))


@pytest.mark.parametrize(
    "call",
    [
        lambda face: face.save(thread=HALF, agent="a", state=1),
        lambda face: face.save(thread="run", agent=HALF, state=1),
        lambda face: face.save(thread="run", agent="a", step=HALF, state=1),
        lambda face: face.save(thread="run", agent=5, state=1),
        lambda face: face.save(thread="run", agent="a", step=5, state=1),
        lambda face: face.save(thread="run", agent="a", step=None, state=1),
        lambda face: face.save(thread="run", agent="a", state={"x": HALF}),
        lambda face: face.save(thread="run", agent="a", state=1, context={"x": HALF}),
        lambda face: face.save(thread="", agent="a", state=1),
        lambda face: face.save(thread="run", agent="a", state=1, ttl=0),
        lambda face: face.save(thread="run", agent="a", state=1, ttl=-1),
        lambda face: face.submit(HALF, NOTE),
    ],
    ids=[
        *("thread", "agent", "step", "agent 5", "step 5", "no step", "state", "context", "no thread", "no time"),
        *("past time", "unknown agent"),
    ],
)
def test_what_is_refused(bench: Bench, call: Callable[[Any], Any]) -> None:
    with bench.refused(bp.Refused):
        bench.run(call(bench.face(desk)))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e18, -5.0], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda face, seconds: face.submit("keeper", NOTE, delay=seconds),
        lambda face, seconds: face.submit("keeper", NOTE, key="k", key_ttl=seconds),
    ],
    ids=["delay", "key_ttl"],
)
def test_a_duration_that_is_none(bench: Bench, call: Callable[[Any, float], Any], seconds: float) -> None:
    with bench.refused(bp.Refused):
        bench.run(call(bench.face(desk), seconds))


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e18], ids=str)
def test_a_time_to_live_that_is_none(bench: Bench, seconds: float) -> None:
    with bench.refused(bp.Refused):
        bench.run(bench.face(desk).save(thread="run", agent="a", state=1, ttl=seconds))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            {"delay": 60, "expires": 5},
            r"expires=5 counts from the submit, and is over before .* \(delay=60\)",
        ),
        ({"delay": 60, "deadline": timedelta(seconds=5)}, "deadline=.* counts from the submit, and is over before"),
        ({"at": LATER, "deadline": LATER - timedelta(1)}, r"deadline=.* is before the job may start \(at="),
        (
            {"delay": 90_000, "deadline": LATER - timedelta(1)},
            r"deadline=.* is before the job may .*\(delay=90000\)",
        ),
    ],
)
def test_a_job_that_would_be_over_before_it_may_start(bench: Bench, options: Any, complaint: str) -> None:
    face = bench.face(desk)
    with bench.refused(bp.BadSetup, complaint):
        bench.run(face.submit("keeper", NOTE, **options))
    bench.run(face.submit("keeper", NOTE, **{**options, "expires": 900_000, "deadline": 900_000}))


@pytest.mark.parametrize("on_busy", ["queue", "interrupt", "rollback"])
def test_what_to_do_on_a_busy_thread_that_is_the_jobs_own(bench: Bench, on_busy: Any) -> None:
    """It could not be busy, so the thread was forgotten."""
    face = bench.face(desk)
    with bench.refused(bp.BadSetup, f"on_busy='{on_busy}' says what to do with another job on the same thread"):
        bench.run(face.submit("keeper", NOTE, on_busy=on_busy))
    with bench.refused(bp.BadSetup, "and thread= is missing"):
        bench.run(face.schedule("s", "keeper", NOTE, cron="* * * * *", on_busy=on_busy))
    bench.run(face.submit("keeper", NOTE, on_busy="reject"))


@pytest.mark.parametrize("cursor", ["1-2-3", "²", "9" * 30, None, 7])
def test_a_cursor_that_is_none(bench: Bench, cursor: Any) -> None:
    with pytest.raises(bp.BadSetup, match="is not an event cursor"):
        bench.run(bench.face(desk).events(after=cursor))


def test_a_cursor_of_another_store(bench: Bench) -> None:
    face = bench.face(desk)
    own = bench.run(face.submit("keeper", NOTE))
    [event, *_] = bench.run(face.events(job=own.id))
    foreign = "7" if "-" in event.cursor else "7-0"
    with pytest.raises(bp.BadSetup, match="not a cursor of this store"):
        bench.run(face.events(after=foreign))


@pytest.mark.parametrize(
    "call",
    [
        lambda face, given: face.restore(given),
        lambda face, given: face.rollback("run", to=given),
        lambda face, given: face.fork(given),
        lambda face, given: face.timeline("run", before=given),
        lambda face, given: face.save(thread="run", agent="a", state=1, parent=given),
    ],
    ids=["restore", "rollback", "fork", "before", "parent"],
)
def test_a_checkpoint_given_for_its_id(bench: Bench, call: Callable[[Any, Any], Any]) -> None:
    """It was a TypeError: '_Saved' object is not subscriptable."""
    face = bench.face(desk)
    given = bench.run(face.save(thread="run", agent="a", state=1))
    with bench.refused(bp.BadSetup, "a Checkpoint is not a checkpoint id: give the .id"):
        bench.run(call(face, given))


@pytest.mark.parametrize(
    "call",
    [
        lambda face, given: face.redrive(given),
        lambda face, given: face.answer(given, 1),
        lambda face, given: face.inbox(after=given),
        lambda face, given: face.delete_job(given),
    ],
    ids=["redrive", "answer", "inbox", "delete"],
)
def test_a_job_given_for_its_id(bench: Bench, call: Callable[[Any, Any], Any]) -> None:
    """It was a TypeError or an AttributeError."""
    face = bench.face(desk)
    given = bench.run(face.submit("keeper", NOTE))
    with bench.refused(bp.BadSetup, "a (Sync)?Job is not a job id: give the .id of a job"):
        bench.run(call(face, given))
    with bench.refused(bp.BadSetup, "None is not a job id"):
        face.job(None)


def test_what_is_no_agent(bench: Bench) -> None:
    face = bench.face(desk)
    saved = bench.run(face.save(thread="run", agent="a", state={}))

    def own(note: Any) -> None: ...

    calls: list[Callable[[], Any]] = [
        lambda: face.submit(own, NOTE),
        lambda: face.fork(saved.id, agent=own),
        lambda: face.hand_off(saved.id, to=own),
        lambda: face.schedule("s", own, NOTE, cron="* * * * *"),
    ]
    for call in calls:
        with bench.refused(
            bp.BadSetup, r"the function own\(\) is not an agent: give an agent's name, or the Agent that @app"
        ):
            bench.run(call())
    with bench.refused(bp.BadSetup, "None is not an agent"):
        bench.run(face.submit(None, NOTE))
    with bench.refused(bp.BadSetup, "the schedule None is not text"):
        bench.run(face.unschedule(None))


@pytest.mark.parametrize(
    "call",
    [
        lambda face, given: face.save(thread="run", agent="a", changes=given),
        lambda face, given: face.save(thread="run", agent="a", state=1, context=given),
        lambda face, given: face.fork(given, changes=[1]),
        lambda face, given: face.timeline("run", context=given),
    ],
    ids=["changes", "context", "fork", "timeline"],
)
def test_values_without_names(bench: Bench, call: Callable[[Any, Any], Any]) -> None:
    with bench.refused(bp.BadSetup, "it must be a dict: values by name"):
        bench.run(call(bench.face(desk), 5))


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda face: face.events(types=5), "types=5, but it must be an event type, e.g. 'job.*', or a list of them"),
        (lambda face: face.events(types=b"job.*"), "types=b'job.*', but it must be an event type"),
        (lambda face: face.events(types=[5]), "the type of events 5 is not text"),
        (lambda face: face.webhook("w", "https://hook.example", secret=5), "the secret 5 is not text"),
        (lambda face: face.submit("keeper", NOTE, delay=None), "delay=None, but it must be a duration"),
        (lambda face: face.submit("keeper", NOTE, key="k", key_ttl=None), "key_ttl=None, but it must be a duration"),
        (lambda face: face.submit("keeper", NOTE, priority=["high"]), r"priority=\['high'\], but it must be"),
        (lambda face: face.submit("keeper", NOTE, returns=dict), "returns=<class 'dict'>, but it must be a contract"),
        (lambda face: face.prune_jobs(older_than=None), "older_than=None, but it must be a duration"),
        (lambda face: face.schedule("s", "keeper", NOTE, cron=5), "the cron expression 5 is not text"),
        (lambda face: face.schedule("s", "keeper", NOTE, cron="* * * * *", timezone=5), "the timezone 5 is not text"),
        (lambda face: face.declare("desk:app"), "'desk:app' is not a batonpass.App"),
        (lambda face: face.backup(5), "5 is not the path of a file to write"),
        (lambda face: face.jobs(agent=5), "5 is not an agent: give an agent's name"),
        (lambda face: face.dead_letters(reason="ambigous"), "reason='ambigous', but it must be one of .*, ambiguous,"),
    ],
)
def test_what_is_of_the_wrong_type(bench: Bench, call: Callable[[Any], Any], complaint: str) -> None:
    """They were TypeErrors and AttributeErrors of Python's own, or nothing was found."""
    with bench.refused(bp.BadSetup, complaint):
        bench.run(call(bench.face(desk)))


def test_an_agent_stands_for_its_name_where_it_is_looked_for(bench: Bench) -> None:
    """As where it is given a job. It found nothing, without a word."""
    face = bench.face(desk)
    job = bench.run(face.submit(keeper, NOTE))
    bench.run(face.save(thread="run", agent="keeper", state=1))
    assert [each.id for each in bench.run(face.jobs(agent=keeper))] == [job.id]
    assert {each.subject for each in bench.run(face.events(agent=keeper))} == {job.id, "run"}
    assert [each.agent for each in bench.run(face.timeline("run", agent=keeper))] == ["keeper"]
    assert bench.run(face.dead_letters(agent=keeper)) == bench.run(face.inbox(agent=keeper)) == []
