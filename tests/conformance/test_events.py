"""Events: what happened, in order, for whoever reads on from a position."""

from __future__ import annotations

import re

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import EventRow
from tests.harness.bench import Bench, new_target

ANY = c.Which()


def read_all(bench: Bench, subject: str = "", limit: int = 500, which: c.Which = ANY) -> list[EventRow]:
    """Page by page from the beginning, as a reader does."""
    found: list[EventRow] = []
    after = ""
    while rows := bench.do(c.Events(after, subject, limit, which)):
        assert rows[-1].position != after
        found += [row for row in rows if row.fields]
        after = rows[-1].position
    return found


def run_one(bench: Bench) -> str:
    fence = bench.start()
    bench.save(fence, thread=fence.job_id, step="fetch")
    bench.do(c.HandOff(fence, new_target("review")))
    bench.do(c.Complete(bench.take(agent="review"), b"result"))
    return fence.job_id


def test_the_life_of_a_job(bench: Bench) -> None:
    job_id = run_one(bench)
    rows = bench.do(c.Events(subject=job_id))
    told = [(row.fields["type"].removeprefix("batonpass."), row.fields["agent"], row.fields["hop"]) for row in rows]
    assert told == [
        ("job.submitted", "write", "0"),
        ("job.started", "write", "0"),
        ("checkpoint.saved", "write", "0"),
        ("job.handed_off", "review", "1"),
        ("job.started", "review", "1"),
        ("job.completed", "review", "1"),
    ]
    assert {row.fields["subject"] for row in rows} == {job_id}
    assert all(int(row.fields["time"]) > 0 for row in rows)


@pytest.mark.one_partition
def test_what_is_empty_is_not_told(bench: Bench) -> None:
    """The same fields from every store."""
    fence = bench.start()
    bench.save(fence, thread="x", step="")
    bench.save(None, thread="run", step="")
    names = [set(row.fields) - {"type", "subject", "time", "agent"} for row in bench.do(c.Events())]
    assert names == [{"hop"}, {"hop", "worker", "token", "attempt"}, {"hop", "checkpoint"}, {"checkpoint"}]


@pytest.mark.one_partition
def test_pages_have_every_event_once(bench: Bench) -> None:
    jobs = [run_one(bench) for _ in range(4)]
    everything = read_all(bench)
    assert len(everything) == len({row.position for row in everything}) == 24
    for limit in (1, 5, 24):
        assert read_all(bench, limit=limit) == everything
    for job_id in jobs:
        mine = [row for row in everything if row.fields["subject"] == job_id]
        for limit in (1, 5, 24):
            assert read_all(bench, job_id, limit) == mine


@pytest.mark.one_partition
def test_the_position_moves_on_where_nothing_matches(bench: Bench) -> None:
    run_one(bench)
    rows = bench.do(c.Events(subject="nobody", limit=3))
    assert [row.fields for row in rows] == [{}]
    [rest] = bench.do(c.Events(rows[0].position, "nobody"))
    assert bench.do(c.Events(rest.position)) == []
    bench.submit(thread="x")
    assert len(bench.do(c.Events(rest.position))) == 1


def test_the_newest_position(bench: Bench) -> None:
    assert bench.do(c.Events(bench.do(c.LastEvent()))) == []
    run_one(bench)
    last = bench.do(c.LastEvent())
    assert last == bench.do(c.Events())[-1].position
    job_id = bench.submit()
    [row] = bench.do(c.Events(last))
    assert row.fields["subject"] == job_id


def test_a_thread_is_a_subject_where_no_job_runs(bench: Bench) -> None:
    saved = bench.save(None, thread="run", step="fetch")
    [row] = bench.do(c.Events(subject="run"))
    assert (row.fields["type"], row.fields["checkpoint"]) == ("batonpass.checkpoint.saved", saved)
    assert (row.fields["agent"], row.fields["step"]) == ("write", "fetch")


def test_what_is_refused_is_not_told(bench: Bench) -> None:
    job_id = run_one(bench)
    told = bench.happened(job_id)
    bench.do(c.Cancel(job_id))
    bench.do(c.Reap())
    assert bench.claim() == []
    assert bench.happened(job_id) == told


@pytest.mark.one_partition
def test_who_looks_at_an_empty_store_has_a_position(bench: Bench) -> None:
    """From there it misses nothing, however much is written and trimmed before its next look."""
    [row] = bench.do(c.Events())
    assert not row.fields
    assert bench.do(c.Events(row.position)) == []
    run_one(bench)
    assert len(bench.do(c.Events(row.position))) == 6
    bench.do(c.TrimEvents(2))
    with bench.refused(bp.Trimmed):
        bench.do(c.Events(row.position))


@pytest.mark.one_partition
def test_the_oldest_are_trimmed(bench: Bench) -> None:
    run_one(bench)
    rows = bench.do(c.Events())
    with bench.nothing_changes():
        assert bench.do(c.TrimEvents(6)) == 0
    assert bench.do(c.TrimEvents(1, limit=2)) == 2
    assert bench.do(c.TrimEvents(3)) == 1
    assert bench.do(c.Events()) == rows[3:]
    assert bench.do(c.Events(rows[2].position)) == rows[3:]
    for row in rows[:2]:
        with pytest.raises(bp.Trimmed, match="were deleted: continue from") as caught:
            bench.do(c.Events(row.position, "nobody"))
        assert bench.do(c.Events(caught.value.first_available)) == rows[3:]
    bench.submit()
    assert bench.do(c.TrimEvents(3)) == 1
    assert bench.do(c.LastEvent()) == bench.do(c.Events())[-1].position


@pytest.mark.one_partition
def test_no_position_is_used_twice(bench: Bench) -> None:
    """Not even when all events were trimmed: who has seen them sees the next one."""
    run_one(bench)
    seen = bench.do(c.LastEvent())
    while bench.do(c.TrimEvents(0)):
        pass
    bench.save(None, thread="later")
    assert [row.fields["subject"] for row in bench.do(c.Events(seen))] == ["later"]


def test_trimming_is_a_namespaces_own(bench: Bench) -> None:
    run_one(bench)
    with bench.beside("other") as other:
        run_one(other)
        assert other.do(c.TrimEvents(100)) == 0
        left = other.do(c.Events(limit=500))
        while bench.do(c.TrimEvents(1)):
            pass
        assert other.do(c.Events(limit=500)) == left
    assert 1 <= len(bench.do(c.Events())) <= 16


WANTED = {
    "a type": (c.Which(types=("batonpass.job.started",)), ["started"] * 4),
    "a prefix": (c.Which(types=("batonpass.job.h*", "batonpass.checkpoint.*")), ["handed_off", "saved"] * 2),
    "an agent": (c.Which(agent="review"), ["completed", "handed_off", "started"] * 2),
    "a thread": (c.Which(thread="run"), ["completed", "handed_off", "saved", "started", "started", "submitted"]),
    "all at once": (c.Which("review", "run", ("batonpass.job.c*",)), ["completed"]),
    "nothing": (c.Which(agent="nobody"), []),
    "a type that is the beginning of another": (c.Which(types=("batonpass.job.start",)), []),
}


@pytest.mark.parametrize("name", WANTED)
def test_only_what_is_wanted(bench: Bench, name: str) -> None:
    which, expected = WANTED[name]
    jobs = set[str]()
    for thread in ("", "run"):
        fence = bench.start(thread=thread)
        jobs = {fence.job_id} if which.thread else {*jobs, fence.job_id}
        bench.save(fence)
        bench.do(c.HandOff(fence, new_target("review")))
        bench.do(c.Complete(bench.take(agent="review"), b"result"))
    for limit in (1, 5, 500):
        rows = read_all(bench, limit=limit, which=which)
        assert sorted(row.fields["type"].rpartition(".")[2] for row in rows) == sorted(expected)
        assert {row.fields["subject"] for row in rows} <= jobs


def test_the_face_says_which(bench: Bench) -> None:
    face = bench.face()
    run_one(bench)
    started = bench.run(face.events(types="job.started", agent="review"))
    assert [event.type for event in started] == ["batonpass.job.started"]
    assert bench.run(face.events(after=started[0].cursor, types=("job.started", "checkpoint.*"))) == []
    assert bench.run(face.trim_events(1)) >= 1
    for wrong in ("", "job.*ed", "\ud800", "completed", "job.complete", "jobs.*", "job.failed,job.completed"):
        with pytest.raises(bp.BadSetup, match="is not an event type: "):
            bench.run(face.events(types=wrong))
    with pytest.raises(bp.BadSetup, match="1 or more"):
        bench.run(face.trim_events(0))


def test_a_follower_that_falls_behind_is_told(bench: Bench) -> None:
    fence = bench.start()
    stream = bench.face().events(follow=True, job=fence.job_id)

    def following() -> bp.Event:
        event: bp.Event = bench.run(anext(stream)) if bench.side == "async" else next(stream)
        return event

    assert [following().type.rpartition(".")[2] for _ in range(2)] == ["submitted", "started"]
    for _ in range(3):
        bench.save(fence, thread=fence.job_id)
    while bench.do(c.TrimEvents(1)):
        pass
    with pytest.raises(bp.Trimmed) as caught:
        following()
    left = bench.run(bench.face().events(after=caught.value.first_available, job=fence.job_id))
    assert [event.type for event in left] == ["batonpass.checkpoint.saved"]


def test_a_stored_cursor_of_an_event_that_is_not_there(bench: Bench) -> None:
    """The store has lost its last events. With the cursor that is offered instead, all events that are left can be
    read."""
    bench.submit()
    known = [row for row in bench.do(c.Events()) if row.fields]
    place = known[-1].position.partition("~")[0].rpartition(".")[2]  # of a cluster: in its partition
    behind_it = re.sub(r"\d+$", lambda number: str(int(number[0]) + 1), place)
    ahead = known[-1].position.replace(place, behind_it)
    assert bench.do(c.Events(known[-1].position, stored=True)) == []
    with pytest.raises(bp.Rewound, match="is not in the store") as told:
        bench.do(c.Events(ahead, stored=True))
    assert [row for row in bench.do(c.Events(told.value.first_available, stored=True)) if row.fields] == known


def test_after_now(bench: Bench) -> None:
    """Also before there is anything."""
    face = bench.face()
    assert bench.run(face.events(after="now")) == []
    bench.submit()
    assert bench.run(face.events(after="now")) == []
    assert len(bench.run(face.events())) == 1
