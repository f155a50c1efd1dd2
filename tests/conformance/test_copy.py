"""Copying a thread: the same tree under another name, which shares the original's bytes."""

from __future__ import annotations

import copy

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.conformance.test_growth import Thread, _grown, _kept
from tests.harness.bench import MINUTE, Bench, new_checkpoint


def test_the_same_history(bench: Bench) -> None:
    face = bench.face()
    run = Thread(bench)
    saved = _grown(run, 25)
    bench.run(face.fork(saved[3][0], changes={"round": "side"}))
    bench.run(face.name(saved[7][0], "best"))
    before = bench.run(face.timeline(thread="run", limit=500))
    bench.clock.advance(MINUTE)
    assert bench.run(face.copy("run", to="twin")) == 26
    after = bench.run(face.timeline(thread="twin", limit=500))
    ids = {one.id: other.id for one, other in zip(before, after, strict=True)}
    for one, other in zip(before, after, strict=True):
        assert (one.step, one.agent, one.context, one.name) == (other.step, other.agent, other.context, other.name)
        assert other.step_index == one.step_index
        assert other.parent_id == (ids[one.parent_id] if one.parent_id else None)
        assert (other.copy_of, other.original_at) == (one.id, one.created_at)
        assert other.created_at > one.created_at
        assert bench.run(face.restore(other.id)).state == bench.run(face.restore(one.id)).state
    assert bench.run(face.timeline(thread="run", limit=500)) == before
    assert bench.run(face.restore(thread="twin", name="best")).state == saved[7][1]


@pytest.mark.parametrize("count", [1, 2])
def test_said_again(bench: Bench, count: int) -> None:
    """After a lost reply: answered as the first time."""
    new = [new_checkpoint(number, thread="run") for number in range(count)]
    add = c.Import("run", 0, new, [""] * count)
    first = bench.do(add)
    with bench.nothing_changes():
        assert bench.do(add) == first


@pytest.mark.one_partition
def test_a_copy_sends_and_keeps_little(bench: Bench) -> None:
    _grown(Thread(bench), 150)
    before = _kept(bench)
    bench.run(bench.face().copy("run", to="twin"))
    assert _kept(bench) - before < 0.75 * before


def test_each_goes_on_by_itself(bench: Bench) -> None:
    face = bench.face()
    run, twin = Thread(bench), Thread(bench, "twin")
    saved = _grown(run, 20)
    bench.run(face.copy("run", to="twin"))
    one = run.save(append={"messages": ["run's"]})
    other = twin.save(append={"messages": ["twin's"]})
    assert other.parent_id != one.parent_id
    assert bench.run(face.restore(one.id)).state["messages"][-1] == "run's"
    assert bench.run(face.restore(other.id)).state["messages"][-1] == "twin's"
    assert bench.run(face.restore(other.id)).state["messages"][:-1] == saved[-1][1]["messages"]


@pytest.mark.parametrize("first", ["run", "twin"])
def test_either_may_go_first(bench: Bench, first: str) -> None:
    face = bench.face()
    saved = _grown(Thread(bench), 20)
    bench.run(face.copy("run", to="twin"))
    other = "twin" if first == "run" else "run"
    bench.run(face.delete(first))
    line = bench.run(face.timeline(thread=other))[::-1]
    assert [bench.run(face.restore(found.id)).state for found in line] == [state for _, state in saved]
    bench.run(face.delete(other))
    assert bench.harness.logs() == {}


def test_a_copy_of_a_copy_knows_the_first_time(bench: Bench) -> None:
    face = bench.face()
    first = bench.run(face.save(thread="run", agent="a", state=copy.deepcopy({"x": 1})))
    for name, to in (("run", "two"), ("two", "three")):
        bench.clock.advance(MINUTE)
        bench.run(face.copy(name, to=to))
    [two] = bench.run(face.timeline(thread="two"))
    [three] = bench.run(face.timeline(thread="three"))
    assert (three.copy_of, three.original_at) == (two.id, first.created_at)


def test_only_to_a_new_thread(bench: Bench) -> None:
    face = bench.face()
    bench.save(None, thread="run")
    bench.save(None, thread="there")
    with bench.refused(bp.Conflict, "'there' already exists"):
        bench.run(face.copy("run", to="there"))
    with bench.refused(bp.Conflict):
        bench.run(face.copy("run", to="run"))
    with bench.refused(bp.BadSetup):
        bench.run(face.copy("run", to=""))
    with bench.refused(bp.NotFound, "'nothing'"):
        bench.run(face.copy("nothing", to="new"))


def test_a_running_jobs_thread_can_be_copied_but_not_written(bench: Bench) -> None:
    face = bench.face()
    fence = bench.start(thread="run")
    bench.save(fence, {"n": 1}, thread="run")
    assert bench.run(face.copy("run", to="twin")) == 1
    busy = bench.start(thread="busy")
    with bench.refused(bp.ThreadBusy, busy.job_id):
        bench.run(face.copy("run", to="busy"))


def test_it_lives_as_long(bench: Bench) -> None:
    face = bench.face()
    bench.save(None, thread="run", ttl=2 * MINUTE)
    kept = bench.save(None, thread="run")
    bench.clock.advance(MINUTE)
    bench.run(face.copy("run", to="twin"))
    bench.clock.advance(MINUTE)
    assert len(bench.line("twin")) == 2
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    [left] = bench.run(face.timeline(thread="twin"))
    assert left.copy_of == kept


def test_more_than_a_page(bench: Bench) -> None:
    face = bench.face()
    for n in range(230):
        bench.save(None, n, thread="run")
    assert bench.run(face.copy("run", to="twin")) == 230
    line = bench.run(face.timeline(thread="twin", limit=500))
    assert [found.step_index for found in line] == list(range(229, -1, -1))
    assert [found.parent_id for found in line[:-1]] == [found.id for found in line[1:]]


def test_a_copy_of_what_was_rolled_back(bench: Bench) -> None:
    """Also where the copy can't share with the original, and has two checkpoints that continue from one."""
    face = bench.face()
    run = Thread(bench)
    saved = _grown(run, 30)
    bench.run(face.rollback("run", to=saved[20][0]))
    for number in range(3):
        run.save(append={"messages": [f"after {number}" * 200]})
    for number in range(8):  # threads in several partitions
        to = f"twin {number}"
        bench.run(face.copy("run", to=to))
        before, after = bench.run(face.timeline(thread="run")), bench.run(face.timeline(thread=to))
        for one, other in zip(before, after, strict=True):
            assert bench.run(face.restore(other.id)).state == bench.run(face.restore(one.id)).state
