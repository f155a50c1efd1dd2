"""Bundles: a job's run as a file, from any store to any store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.errors import Unreachable
from batonpass.coordinator import bundling
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Write
from batonpass.coordinator.snapshots import draft
from tests.conformance.test_growth import Thread, _grown
from tests.conformance.test_schedules import look, schedule, to_the_hour
from tests.harness.bench import MINUTE, Bench, fence_of
from tests.harness.bundles import Carrier, history, kept
from tests.harness.children import Family
from tests.harness.places import Places

DAY = 86_400_000


@pytest.fixture
def carrier(tmp_path: Path) -> Carrier:
    return Carrier(tmp_path)


def test_a_thread_is_the_same_there(bench: Bench, carrier: Carrier) -> None:
    """Ids, parents, names, times and states; with gaps, branches, and what was begun elsewhere; there and back."""
    face = bench.face()
    saved = _grown(Thread(bench), 40)
    bench.run(face.rollback("run", to=saved[20][0]))
    for number in range(5):
        bench.clock.advance(MINUTE)
        bench.run(face.save(thread="run", agent="write", append={"messages": [f"after {number}" * 200]}))
    bench.run(face.fork(saved[3][0], changes={"round": "side"}))
    bench.run(face.fork(saved[5][0], thread="fork", changes={"topic": "another"}))
    bench.run(face.save(thread="fork", agent="write", append={"messages": ["fork's" * 300]}))
    bench.run(face.name(saved[7][0], "best"))
    for number in (0, 1, 6, 9):
        bench.run(face.expire(saved[number][0]))
    for thread in ("run", "fork"):
        before = history(bench, thread)
        with carrier.elsewhere(bench.side) as benches:
            for there in benches:
                carrier.carry(bench, there, thread)
                assert history(there, thread) == before
        _check_back(bench, carrier, thread)


def _check_back(bench: Bench, carrier: Carrier, thread: str) -> None:
    """The same bundle, imported here and exported again, is the same."""
    before = history(bench, thread)
    path = carrier.export(bench, thread)
    bench.run(bench.face().delete("run"))
    if thread != "run":
        bench.run(bench.face().delete(thread))
        assert bench.harness.logs() == {}
        bench.run(bench.face().import_bundle(path))
        assert history(bench, thread) == before


def test_it_goes_on_there(bench: Bench, carrier: Carrier) -> None:
    saved = _grown(Thread(bench), 20)
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            carrier.carry(bench, there, "run")
            made = Thread(there).save(append={"messages": ["more" * 300]})
            assert made.parent_id == saved[-1][0]
            assert made.step_index == 20
            assert Thread(there).restore(made.id).state["messages"] == [*saved[-1][1]["messages"], "more" * 300]
            there.run(there.face().delete("run"))
            assert there.harness.logs() == {}


def _failed(bench: Bench) -> str:
    fence = bench.start(key="k")
    bench.save(fence, {"n": 1}, thread=fence.job_id, records={"step": b"paid"})
    bench.do(c.Fail(fence, "boom", "attempts"))
    return fence.job_id


def test_a_failed_job_goes_on_there(bench: Bench, carrier: Carrier) -> None:
    """With its journal, from its last checkpoint, if somebody says so."""
    job_id = _failed(bench)
    before = kept(bench, job_id)
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            carrier.carry(bench, there, job_id)
            assert kept(there, job_id) == replace(before, job=replace(before.job, idem="", closed="", failing=0))
            assert there.claim() == []
            assert [row.id for row in there.do(c.ListJobs(dead=True))] == [job_id]
            there.do(c.Redrive(job_id))
            [delivery] = there.claim()
            assert delivery.checkpoint is not None
            assert (delivery.checkpoint.id, dict(delivery.journal)) == (before.job.tip, {"step": b"paid"})
            assert delivery.job.token > before.job.token
            assert there.submit(key="k") != job_id
    assert kept(bench, job_id) == before


def _running(bench: Bench) -> str:
    fence = bench.start()
    bench.save(fence, {"n": 1}, thread=fence.job_id, records={"step": b"paid"})
    return fence.job_id


def _waiting(bench: Bench) -> str:
    fence = bench.start()
    Family(bench, fence, 2).spawn(records={"step": b"paid"})
    return fence.job_id


_UNENDED: dict[str, Any] = {
    "running": _running,
    "ready": lambda bench: bench.submit(terms=c.Terms(within=MINUTE)),
    "scheduled": lambda bench: bench.submit(delay=MINUTE),
    "waiting for children": _waiting,
}


@pytest.mark.parametrize("state", _UNENDED)
def test_nothing_starts_to_run_there(bench: Bench, carrier: Carrier, state: str) -> None:
    job_id = _UNENDED[state](bench)
    was = bench.state(job_id)
    with bench.nothing_changes():
        path = carrier.export(bench, job_id)
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            there.run(there.face().import_bundle(path))
            there.clock.advance(DAY)
            assert there.do(c.Reap()) == c.Reaped(0, -1)
            assert there.claim() == []
            row = there.job(job_id)
            assert (row.state, row.reason) == ("failed", "imported")
            assert row.error.startswith(f"it was {was[0]} ({was[1]})" if was[1] else f"it was {was[0]} when")
            there.do(c.Redrive(job_id))
            [delivery] = there.claim()
            assert delivery.job.id == job_id
            there.do(c.Complete(fence_of(delivery), b"done"))


def test_a_question_is_answered_there(bench: Bench, carrier: Carrier) -> None:
    fence = bench.start()
    bench.do(c.Suspend(fence, b"sure?", terms=b"terms", assignee="ann", timeout=MINUTE, escalation=f"{MINUTE} bob"))
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            carrier.carry(bench, there, fence.job_id)
            there.clock.advance(DAY)
            there.do(c.Reap())
            row = there.job(fence.job_id)
            assert (row.state, row.question, row.terms, row.assignee) == ("input_required", b"sure?", b"terms", "ann")
            assert [each.id for each in there.do(c.Inbox())] == [fence.job_id]
            with there.refused(bp.ThreadBusy):
                there.save(None, thread=fence.job_id)
            there.do(c.AnswerJob(fence.job_id, b"yes", row.asked))
            [delivery] = there.claim()
            assert delivery.job.answer == b"yes"


@pytest.mark.parametrize("end", ["completed", "canceled", "rejected"])
def test_an_ended_job_is_what_it_was(bench: Bench, carrier: Carrier, end: str) -> None:
    fence = bench.start(thread="run")
    bench.save(fence, {"n": 1}, thread="run")
    if end == "completed":
        bench.do(c.Complete(fence, b"result"))
    elif end == "canceled":
        bench.do(c.Cancel(fence.job_id))
    else:
        bench.do(c.Fail(fence, "no", "no", state="rejected"))
    before = bench.job(fence.job_id)
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            carrier.carry(bench, there, fence.job_id)
            assert there.job(fence.job_id) == replace(before, closed="", idem="")
            there.run(there.face().delete("run"))
            with there.refused(bp.NotFound):
                there.job(fence.job_id)


def test_what_happened_is_told_there(bench: Bench, carrier: Carrier) -> None:
    bench.clock.advance(-365 * DAY)  # positions on Redis are of a clock that no test sets
    job_id = _failed(bench)
    rows = bench.do(c.Events(subject=job_id, limit=500))
    wanted = [row.fields for row in rows if row.fields and "checkpoint" not in row.fields["type"]]
    with carrier.elsewhere(bench.side) as benches:
        memory, sqlite = benches
        carrier.carry(bench, memory, job_id)
        carrier.carry(memory, sqlite, job_id)
        for there in benches:
            events = there.run(there.face().events(job=job_id))
            assert {event.type for event in events} == {"batonpass.event.imported"}
            assert [event.data["was"] for event in events] == [
                fields["type"].removeprefix("batonpass.") for fields in wanted
            ]
            assert events[-1].data["error"] == "boom"
            assert events[-1].data["reason"] == "attempts"
            assert events[0].data["at"].startswith("20")


def test_a_scheduled_jobs_time_is_told_beside_when_it_was_submitted(bench: Bench, carrier: Carrier) -> None:
    bench.clock.advance(-365 * DAY)  # positions on Redis are of a clock that no test sets
    schedule(bench)
    due = to_the_hour(bench)
    [(_, job_id)] = look(bench).jobs
    with carrier.elsewhere(bench.side) as (there, *_):
        carrier.carry(bench, there, job_id)
        [event] = there.run(there.face().events(job=job_id))
        assert event.data["was"] == "job.submitted"
        assert event.data["due"] == due
        assert event.data["at"] != due


def test_children_are_left_out(bench: Bench, carrier: Carrier) -> None:
    """How they ended is not: a parent that is redriven there does not make the finished ones again."""
    family = Family(bench, bench.start(), 2)
    family.spawn(records={"fan/x": b"1"})
    family.end(0, "+")
    family.end(1, "b")
    fence = bench.take()
    bench.do(c.Fail(fence, "too few", "children"))
    before = kept(bench, family.parent)
    assert [row.state for _, row in before.outcomes] == ["completed", "failed"]
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            path = carrier.folder / f"of {there.store.url.partition(':')[0]}"
            info = bench.run(bench.face().export_bundle(family.parent, path))
            assert info.left_out == (f"the 2 children of job {family.parent}",)
            carrier.carry(bench, there, family.parent)
            found = kept(there, family.parent)
            assert (found.outcomes, found.journal) == (before.outcomes, before.journal)
            with there.refused(bp.NotFound):
                there.job(family.ids[0])
            carrier.carry(bench, there, family.ids[1])
            there.do(c.Redrive(family.ids[1]))
            [delivery] = there.claim()
            there.do(c.Complete(fence_of(delivery), b"1"))


def test_a_job_that_began_on_another_thread(bench: Bench, carrier: Carrier) -> None:
    """What it would go on from is not on its own: that is told."""
    origin = bench.save(None, {"n": 1})
    fence = bench.start(origin=origin)
    bench.do(c.Fail(fence, "boom", "attempts"))
    info = bench.run(bench.face().export_bundle(fence.job_id, carrier.folder / "before"))
    assert [each.partition(":")[0] for each in info.left_out] == [
        f"checkpoint {origin}, from which job {fence.job_id} would go on"
    ]
    bench.do(c.Redrive(fence.job_id))
    fence = bench.take()
    bench.save(fence, {"n": 2})
    assert bench.run(bench.face().export_bundle(fence.job_id, carrier.folder / "after")).left_out == ()


def test_what_frameworks_put_and_wrote(bench: Bench, carrier: Carrier) -> None:
    places = Places(bench)
    places.line("1", "2", "3", run="d" * 32)
    places.put("a", scope="sub\0scope")
    places.write("3", Write("task", b"written"), Write("other", b"2"))
    before = history(bench, "run")
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            carrier.carry(bench, there, "run")
            assert history(there, "run") == before
            for key, scope in (("3", ""), ("a", "sub\0scope")):
                here, gone = there.do(c.Find("run", scope, key)), bench.do(c.Find("run", scope, key))
                assert here is not None
                assert gone is not None
                assert here.place == gone.place
                assert sorted((each.name, each.data) for each in here.writes) == sorted(
                    (each.name, each.data) for each in gone.writes
                )
            assert there.do(c.OfRun("d" * 32)) == bench.do(c.OfRun("d" * 32))


@pytest.mark.one_partition
def test_what_is_here_already_is_refused(bench: Bench, carrier: Carrier) -> None:
    job_id = _failed(bench)
    saved = _grown(Thread(bench), 40)
    face = bench.face()
    for what in (job_id, "run"):
        path = carrier.export(bench, what)
        with bench.refused(bp.Conflict, "is here already"):
            bench.run(face.import_bundle(path))
    bench.run(face.delete("run"))
    bench.run(face.save(thread="run", agent="write", state={"another": 1}))
    with bench.refused(bp.Conflict, "is here already"):
        bench.run(face.import_bundle(path))
    bench.run(face.delete("run"))
    bench.run(face.import_bundle(path))
    fork = bench.run(face.fork(saved[-1][0], thread="fork"))
    bench.run(face.delete("run"))
    with bench.refused(bp.Conflict, "forks of them use it"):
        bench.run(face.import_bundle(path))
    assert bench.run(face.restore(fork.id)).state == saved[-1][1]
    with bench.refused(bp.NotFound, "no job or thread 'nothing'"):
        bench.run(face.export_bundle("nothing", carrier.folder / "nothing"))
    assert not list(carrier.folder.glob("nothing*"))


@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4])
def test_interrupted_and_run_again(bench: Bench, carrier: Carrier, stop: int) -> None:
    """After each of its writes: the rest is added, once."""
    job_id = _failed(bench)
    for number in range(60):
        bench.save(None, {"n": number}, thread=job_id)
    places = Places(bench, job_id)
    places.put("1", writes=[Write("w", b"1")])
    places.write("1", Write("task", b"written"))
    path = carrier.export(bench, job_id)
    before = history(bench, job_id)
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            writes = 0
            call = there.store.call

            def failing(command: Any, call: Any = call) -> Any:
                nonlocal writes
                if type(command) in (c.Import, c.Adopt, c.PutWrites):
                    writes += 1
                    if writes > stop:
                        raise Unreachable("gone")
                return call(command)

            there.store.call = failing  # type: ignore[method-assign]
            try:
                bundling.import_bundle(there.store, path, progress=None)
            except Unreachable:
                assert stop < 4
            there.store.call = call  # type: ignore[method-assign]
            if stop < 4:
                there.run(there.face().import_bundle(path))
            assert history(there, job_id) == before
            assert there.job(job_id).state == "failed"
            with there.refused(bp.Conflict, "is here already"):
                there.run(there.face().import_bundle(path))
            there.run(there.face().delete(job_id))
            assert there.harness.logs() == {}


def test_a_thread_that_goes_on_meanwhile(bench: Bench, carrier: Carrier) -> None:
    """Two of its jobs, each read while it asked, would not fit on one thread."""

    def asking() -> str:
        fence = bench.start(thread="run")
        snapshot = Snapshot(step="step", state={})
        bench.do(c.Save("run", draft(snapshot, thread="run", agent="write", job=fence.job_id).new, fence))
        bench.suspend(fence)
        return fence.job_id

    def go_on(done: int, total: int) -> None:
        if done == 1:
            bench.do(c.Cancel(first))
            asking()

    first = asking()
    with pytest.raises(bp.Conflict, match="went on meanwhile: run it again"):
        bundling.export_bundle(bench.store, "run", carrier.folder / "run", plain=False, progress=go_on)
    assert len(bench.run(bench.face().export_bundle("run", carrier.folder / "run")).jobs) == 2


def test_a_threads_jobs_come_along_that_saved_nothing(bench: Bench, carrier: Carrier) -> None:
    """A job may fail before its first checkpoint, also one of a thread that has others."""
    failed = bench.start(thread="run")
    bench.do(c.Fail(failed, "no", "permanent"))
    bench.clock.advance(MINUTE)
    info = bench.run(bench.face().export_bundle("run", carrier.folder / "alone"))
    assert (info.jobs, info.checkpoints) == ((failed.job_id,), 0)
    saving = bench.start(thread="run")
    bench.save(saving, {"n": 1}, thread="run")
    path = carrier.export(bench, "run")
    with carrier.elsewhere(bench.side) as benches:
        for there in benches:
            assert there.run(there.face().import_bundle(path)).jobs == (failed.job_id, saving.job_id)
            assert there.job(failed.job_id).state == "failed"
