"""Jobs, page by page, newest first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts import names
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls import dead, jobs
from batonpass.coordinator.calls.jobs import _PAGE
from batonpass.coordinator.snapshots import from_ms
from tests.harness.bench import MINUTE, Bench
from tests.harness.children import Family


def page(bench: Bench, limit: int, before: str = "") -> list[str]:
    return [row.id for row in bench.do(c.ListJobs(limit, before))]


def test_pages(bench: Bench) -> None:
    jobs: list[str] = []
    for _ in range(7):
        jobs.insert(0, bench.submit())
        bench.clock.advance(1)
    assert page(bench, 3) == jobs[:3]
    assert page(bench, 3, jobs[2]) == jobs[3:6]
    assert page(bench, 3, jobs[5]) == jobs[6:]
    assert page(bench, 3, jobs[6]) == []
    assert page(bench, 200) == jobs


def test_jobs_of_one_millisecond_are_each_on_one_page(bench: Bench) -> None:
    jobs = {bench.submit() for _ in range(7)}
    found = page(bench, 3)
    while more := page(bench, 3, found[-1]):
        found += more
    assert (len(found), set(found)) == (7, jobs)


def test_a_list_up_to_a_time_begins_there(bench: Bench) -> None:
    """All that came later were read, page by page, and left out."""

    def failed() -> str:
        fence = bench.start(thread="one")
        bench.do(c.Fail(fence, "boom", "failed", None))
        bench.clock.advance(1)
        return fence.job_id

    old = [failed() for _ in range(3)][::-1]
    end = bench.clock.now
    new = [failed() for _ in range(3)][::-1]
    until = from_ms(end)
    for call in (jobs.page(None, None, 50, until=until), dead.page(None, None, 50, until=until)):
        assert [row.id for row in bench.do(next(call))] == old
    on_thread = jobs.page(None, None, 50, thread="one", until=until)
    assert [row.id for row in bench.do(next(on_thread))] == old
    assert bench.do(c.JobsOn("one", at=1)) == bench.do(c.ListJobs(at=1)) == []
    face = bench.face()
    for listed in (face.jobs, face.dead_letters):
        assert [info.id for info in bench.run(listed(until=until))] == old
        assert [info.id for info in bench.run(listed(until=from_ms(bench.clock.now + MINUTE)))] == new + old
        assert [info.id for info in bench.run(listed(until=until, before=new[1]))] == old
        assert [info.id for info in bench.run(listed(until=until, before=old[0]))] == old[1:]


def test_rows_are_the_jobs(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Complete(fence, b"result"))
    assert bench.do(c.ListJobs()) == [bench.job(fence.job_id)]


def test_few_of_a_state_or_an_agent_among_many(bench: Bench) -> None:
    """More jobs lie between them than there are on a page."""
    old = bench.start("rare").job_id
    bench.clock.advance(1)
    for _ in range(2 * _PAGE):
        bench.submit()
    bench.clock.advance(1)
    new = bench.start("common").job_id
    face = bench.face()

    def listed(**asked: Any) -> list[str]:
        return [info.id for info in bench.run(face.jobs(**asked))]

    assert listed(state="working") == [new, old]
    assert listed(state="working", limit=1) == [new]
    assert listed(state="working", agent="rare") == listed(agent="rare") == [old]
    assert listed(state="failed") == listed(state="working", agent="write") == listed(agent="nobody") == []
    assert len(set(listed(state="submitted", limit=9 * _PAGE))) == 2 * _PAGE
    assert len(set(listed(agent="write", limit=_PAGE + 1))) == _PAGE + 1
    assert len(set(listed(limit=9 * _PAGE))) == 2 * _PAGE + 2


def test_those_that_are_nobodys_children(bench: Bench) -> None:
    """More children than are on a page lie between them."""
    old = bench.submit()
    bench.clock.advance(1)
    family = Family(bench, bench.start("top"), _PAGE + 5)
    family.spawn()
    bench.clock.advance(1)
    new = bench.submit()
    face = bench.face()

    def listed(**asked: Any) -> list[str]:
        return [info.id for info in bench.run(face.jobs(children=False, **asked))]

    # The store itself leaves them out: the client would need several round trips to pass them.
    assert {row.id for row in bench.do(c.ListJobs(5, children=False))} >= {new, family.parent, old}
    assert listed() == [new, family.parent, old]
    assert listed(limit=2) == [new, family.parent]
    assert listed(before=new) == [family.parent, old]
    assert listed(state="working", agent="top") == [family.parent]
    assert listed(thread=family.ids[0]) == []
    with bench.refused(bp.BadSetup, "leave out children=False"):
        listed(parent=family.parent)
    with bench.refused(bp.BadSetup, "no other filter"):
        listed(agent="top", key="k")


def test_none(bench: Bench) -> None:
    assert page(bench, 9) == []


def test_before_an_unknown_job(bench: Bench) -> None:
    bench.submit()
    with bench.refused(bp.NotFound):
        page(bench, 9, mint("j"))


@pytest.mark.parametrize("slow", [0, 30_000])
def test_a_list_goes_on_where_a_job_was_deleted(bench: Bench, monkeypatch: pytest.MonkeyPatch, slow: int) -> None:
    """Also if the clock of the program that submitted it is slow: rather some jobs come again than one is left out."""
    monkeypatch.setattr(names, "time", SimpleNamespace(time_ns=lambda: (bench.clock.now - slow) * 1_000_000))
    made: list[str] = []
    for _ in range(6):
        fence = bench.start("write", thread="one")
        bench.do(c.Complete(fence, b"result"))
        made.insert(0, fence.job_id)
        bench.clock.advance(45_000)
    face = bench.face()
    for about in ({}, {"thread": "one"}, {"state": "completed"}, {"children": False, "agent": "write"}):
        whole = [info.id for info in bench.run(face.jobs(**about))]
        below = [info.id for info in bench.run(face.jobs(**about, before=whole[2]))]
        gone = whole.pop(2)
        bench.do(c.DeleteJob(gone))
        found = [info.id for info in bench.run(face.jobs(**about, before=gone))]
        assert found[-len(below) :] == below
        assert len(found) <= len(below) + 1
    with bench.refused(bp.NotFound, "is not a job id"):
        bench.run(face.jobs(before="x"))


def test_dead_letters_begin_anew_where_one_was_deleted(bench: Bench) -> None:
    failed: list[str] = []
    for _ in range(4):
        fence = bench.start()
        bench.do(c.Fail(fence, "boom", "failed", None))
        failed.insert(0, fence.job_id)
        bench.clock.advance(1)
    face = bench.face()
    first = [info.id for info in bench.run(face.dead_letters(limit=2))]
    gone = first[-1]
    bench.do(c.DeleteJob(gone))
    left = [one for one in failed if one != gone]
    assert [info.id for info in bench.run(face.dead_letters(before=gone))] == left
    assert [info.id for info in bench.run(face.dead_letters(before=gone, limit=2))] == left[:2]
    with bench.refused(bp.NotFound, "is not a job id"):
        bench.run(face.dead_letters(before="x"))


def test_the_children_of_one_job(bench: Bench) -> None:
    """Among others, which are older and newer."""
    bench.submit()
    bench.clock.advance(1)
    families = [Family(bench, bench.start("top"), 3) for _ in range(2)]
    for family in families:
        family.spawn()
        bench.clock.advance(1)
        bench.submit()
    bench.do(c.Cancel(families[0].ids[1]))
    face = bench.face()

    def listed(**asked: Any) -> list[str]:
        return [info.id for info in bench.run(face.jobs(parent=families[0].parent, **asked))]

    assert set(listed()) == set(families[0].ids)
    assert listed(state="canceled") == [families[0].ids[1]]
    assert listed(agent="top") == []
    newest, *_ = listed(limit=1)
    assert {newest, *listed(before=newest)} == set(families[0].ids)
    with bench.refused(bp.NotFound, "is not a job id"):
        bench.run(face.jobs(parent="run"))
    with bench.refused(bp.NotFound, "there is no job"):
        bench.run(face.jobs(parent=mint("j")))


def test_the_jobs_on_one_thread(bench: Bench) -> None:
    """Those that run, wait or have ended, among others; also the job that the thread is named after."""
    first = bench.start().job_id
    bench.clock.advance(1)
    bench.do(c.Cancel(first))
    jobs = [first]
    for _ in range(3):
        jobs.insert(0, bench.submit(thread=first, on_busy="queue"))
        bench.submit()
        bench.clock.advance(1)
    elsewhere = bench.submit(thread="elsewhere")
    face = bench.face()

    def listed(thread: str = first, **asked: Any) -> list[str]:
        return [info.id for info in bench.run(face.jobs(thread=thread, **asked))]

    assert listed() == jobs
    assert listed(limit=2) == jobs[:2]
    assert listed(before=jobs[1]) == jobs[2:]
    assert listed(before=first) == listed("nowhere") == listed(agent="nobody") == []
    assert listed(state="canceled") == [first]
    assert listed("elsewhere") == listed("elsewhere", agent="write") == [elsewhere]
    with bench.refused(bp.BadSetup, "is not on thread"):
        listed(before=elsewhere)
    bench.do(c.DeleteJob(first))
    assert listed() == jobs[:-1]


def test_a_page_of_a_thread_below_another_threads_job(bench: Bench) -> None:
    bench.submit(thread="t")
    other = bench.submit()
    with bench.refused(bp.NotFound, "there is no job"):
        bench.do(c.JobsOn("t", before=other))
