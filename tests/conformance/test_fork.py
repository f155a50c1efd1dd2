"""Going on from an earlier checkpoint: as a branch, as a thread, as a job. What it has in common is shared."""

from __future__ import annotations

import random
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import forks
from batonpass.coordinator.calls.edits import Edit
from batonpass.coordinator.parts.bases import Bases
from batonpass.coordinator.seals import read_commit
from tests.conformance.test_growth import Thread, _grown, _kept
from tests.harness.bench import Bench, new_checkpoint
from tests.harness.texts import message


def test_a_branch_of_the_same_thread(bench: Bench) -> None:
    face = bench.face()
    saved = _grown(Thread(bench), 20)
    at, state = saved[8]
    fork = bench.run(face.fork(at, changes={"round": "other"}, append={"messages": ["new"]}))
    expected = {**state, "round": "other", "messages": [*state["messages"], "new"]}
    assert (fork.state, fork.parent_id, fork.thread, fork.step) == (expected, at, "run", "fork")
    assert bench.run(face.restore(fork.id)) == fork
    assert bench.tip("run") == fork.id
    after = bench.run(face.save(thread="run", agent="write", append={"messages": ["more"]}))
    assert after.state == {**expected, "messages": [*expected["messages"], "more"]}
    assert [found.id for found in bench.run(face.branches("run"))] == [after.id, saved[-1][0]]
    assert [bench.run(face.restore(id_)).state for id_, _ in saved] == [state for _, state in saved]


def test_a_new_thread(bench: Bench) -> None:
    face = bench.face()
    saved = _grown(Thread(bench), 20)
    at, state = saved[8]
    fork = bench.run(face.fork(at, thread="other"))
    assert (fork.state, fork.parent_id, fork.thread, fork.step_index) == (state, at, "other", 0)
    assert bench.tip("run") == saved[-1][0]
    assert [found.id for found in bench.run(face.ancestors(fork.id))] == [id_ for id_, _ in saved[8::-1]]
    with bench.refused(bp.Conflict, "'other' already exists"):
        bench.run(face.fork(at, thread="other"))
    assert bench.happened("other") == ["checkpoint.saved"]


@pytest.mark.parametrize("state", [{"all": "new"}, [1, 2], "text", {"messages": []}])
def test_a_whole_new_state(bench: Bench, state: Any) -> None:
    saved = _grown(Thread(bench), 12)
    fork = bench.run(bench.face().fork(saved[5][0], state=state))
    assert bench.run(bench.face().restore(fork.id)).state == fork.state == state


def test_what_the_framework_noted_goes_along(bench: Bench) -> None:
    at = bench.save(None, {"a": 1}, thread="run")
    assert bench.run(bench.face().fork(at, changes={"a": 2})).framework == bench.run(bench.face().restore(at)).framework


def test_a_new_job(bench: Bench) -> None:
    app = bp.App("forks")

    @app.agent("write", accepts=bp.State, returns=bp.State)
    def write(state: bp.State) -> bp.State:
        return state

    face = bench.face(app)
    at = bench.save(None, {"text": "a", "n": 1}, thread="run")
    job = bench.run(face.fork(at, agent=write, changes={"text": "b"}, key="k"))
    again = bench.run(face.fork(at, agent="write", changes={"text": "b"}, key="k"))
    assert again.id == job.id
    with bench.refused(bp.KeyConflict):
        bench.run(face.fork(at, agent="write", changes={"text": "c"}, key="k"))
    assert bench.job(job.id).tip == at
    with pytest.raises(bp.BadSetup, match="not both"):
        bench.run(face.fork(at, agent="write", thread="other"))
    with pytest.raises(bp.BadSetup, match="payload= is for the job"):
        bench.run(face.fork(at, payload={"text": "d"}))


@pytest.mark.parametrize("thread", [None, "other"])
def test_the_same_key_makes_it_once(bench: Bench, thread: str | None) -> None:
    face = bench.face()
    saved = _grown(Thread(bench), 12)
    fork = bench.run(face.fork(saved[5][0], changes={"round": 9}, thread=thread, key="k"))
    with bench.nothing_changes():
        again = bench.run(face.fork(saved[5][0], changes={"round": 9}, thread=thread, key="k"))
        assert again == fork
    with bench.refused(bp.KeyConflict, fork.id):
        bench.run(face.fork(saved[5][0], changes={"round": 8}, thread=thread, key="k"))


def test_not_while_a_job_runs(bench: Bench) -> None:
    face = bench.face()
    fence = bench.start(thread="run")
    at = bench.save(fence, {"n": 1}, thread="run")
    with bench.refused(bp.ThreadBusy, f"{fence.job_id}: wait .* or use another thread$"):  # it has no on_busy=
        bench.run(face.fork(at))
    advice = rf"cancel it \(`batonpass cancel {fence.job_id}`\), or wait until it ends, before you"
    with bench.refused(bp.ThreadBusy, f"{fence.job_id}: {advice} take the thread back$"):
        bench.run(face.rollback("run", to=at))
    with bench.refused(bp.ThreadBusy, f"{fence.job_id}: {advice} delete the thread$"):
        bench.run(face.delete("run"))
    bench.run(face.fork(at, thread="other"))
    bench.do(c.Complete(fence, b"result"))
    bench.run(face.fork(at))


def test_from_nowhere(bench: Bench) -> None:
    for missing in (mint("c"), "nothing"):
        with bench.refused(bp.NotFound):
            bench.run(bench.face().fork(missing))


def test_a_fork_lives_on_when_its_source_is_gone(bench: Bench) -> None:
    face = bench.face()
    run = Thread(bench)
    saved = _grown(run, 30, ttl=60)
    forks = [bench.run(face.fork(id_, append={"messages": [f"f{n}"]})) for n, (id_, _) in enumerate(saved[10:20])]
    states = [{**state, "messages": [*state["messages"], f"f{n}"]} for n, (_, state) in enumerate(saved[10:20])]
    bench.clock.advance(61_000)
    bench.do(c.Reap())
    assert [bench.run(face.restore(fork.id)).state for fork in forks] == states
    assert {row.id for row in bench.line("run")} == {fork.id for fork in forks}
    for fork in forks:
        bench.do(c.Expire(fork.id))
    assert bench.harness.logs() == {}


def test_forks_cost_what_they_change(bench: Bench) -> None:
    """100 of them from the middle of a long thread. (Redis counts keys apart: see the benchmark for its memory.)"""
    face = bench.face()
    chance = random.Random(8)
    saved = _grown(Thread(bench), 300)
    before = _kept(bench)
    changed = 0
    for _ in range(100):
        new = [message(chance), message(chance)]
        changed += len(repr(new))
        bench.run(face.fork(saved[150][0], append={"messages": new}))
    assert _kept(bench) - before < 2 * changed


# rollback


def test_going_back(bench: Bench) -> None:
    face = bench.face()
    run = Thread(bench)
    saved = _grown(run, 15)
    back = bench.run(face.rollback("run", to=saved[4][0]))
    assert (back.state, back.parent_id, back.step, back.step_index) == (saved[4][1], saved[4][0], "rollback", 15)
    assert run.latest() == back
    assert len(bench.line("run")) == 16
    assert [found.id for found in bench.run(face.ancestors(back.id))] == [id_ for id_, _ in saved[4::-1]]
    after = run.save(append={"messages": ["again"]})
    assert after.state["messages"] == [*saved[4][1]["messages"], "again"]
    bench.run(face.rollback("run", to=saved[14][0]))
    assert run.latest().state == saved[14][1]


@pytest.mark.parametrize("name", ["good", "checkpoint-before-deploy"])
def test_going_back_to_a_name(bench: Bench, name: str) -> None:
    """The longer one, which begins as an id and is as long, was not found."""
    face = bench.face()
    saved = _grown(Thread(bench), 5)
    bench.run(face.name(saved[2][0], name))
    assert bench.run(face.rollback("run", to=name)).state == saved[2][1]
    with bench.refused(bp.NotFound, "'bad'"):
        bench.run(face.rollback("run", to="bad"))


def test_not_to_another_thread(bench: Bench) -> None:
    saved = bench.save(None, thread="other")
    bench.save(None, thread="run")
    with bench.refused(bp.BadSetup, "on thread 'other', not 'run'"):
        bench.run(bench.face().rollback("run", to=saved))


# the tree


def test_the_tree(bench: Bench) -> None:
    face = bench.face()
    one, two, three = (bench.save(None, n, thread="run") for n in range(3))
    side = bench.run(face.fork(one)).id
    sub = bench.run(face.fork(side)).id
    other = bench.run(face.fork(two)).id
    assert [found.id for found in bench.run(face.branches("run"))] == [other, sub, three]
    assert [found.id for found in bench.run(face.ancestors(sub))] == [side, one]
    assert [found.id for found in bench.run(face.ancestors(sub, limit=1))] == [side]
    assert bench.run(face.ancestors(one)) == []
    bench.do(c.Expire(side))
    assert bench.run(face.ancestors(sub)) == []
    with bench.refused(bp.NotFound):
        bench.run(face.ancestors(side))


def test_ancestors_over_more_than_a_page(bench: Bench) -> None:
    ids = [bench.save(None, thread="run") for _ in range(12)]
    rows = bench.do(c.Ancestors(ids[-1], 5))
    assert [row.id for row in rows] == ids[:-6:-1]
    assert {row.state for row in rows} == {b""}
    assert [found.id for found in bench.run(bench.face().ancestors(ids[-1]))] == ids[-2::-1]


def test_lists_of_what_fits(bench: Bench) -> None:
    face = bench.face()
    made = []
    for n in range(9):
        context = {"n": n % 3, "odd": bool(n % 2)}
        agent, step = ("a", "b")[n % 2], f"s{n % 3}"
        made.append(bench.run(face.save(thread="run", agent=agent, state=n, step=step, context=context)).id)

    def listed(**wanted: Any) -> list[int]:
        return [made.index(found.id) for found in bench.run(face.timeline(thread="run", **wanted))]

    assert listed(agent="a") == [8, 6, 4, 2, 0]
    assert listed(agent="a", limit=2) == [8, 6]
    assert listed(agent="a", limit=2, before=made[6]) == [4, 2]
    assert listed(step="s1") == [7, 4, 1]
    assert listed(context={"n": 2}) == [8, 5, 2]
    assert listed(context={"n": 2, "odd": True}) == [5]
    assert listed(context={"missing": None}) == []
    assert listed(framework="langgraph") == []
    assert listed(framework="python", agent="b", step="s1") == [7, 1]
    assert listed(job="j") == []


def test_a_key_used_twice_at_once_makes_one_fork(bench: Bench) -> None:
    """Both have looked and found nothing; the second one to commit learns of the first, and believes nothing else."""
    face, book = bench.face(), Book(None)
    source = bench.run(face.save(thread="run", agent="write", state={"messages": ["m" * 600] * 40}))
    call = forks.fork(Bases(), book, source.id, Edit(append={"messages": ["late"]}), None, "k")
    command: Any = next(call)
    first = None
    with pytest.raises(bp.KeyConflict, match="'k' was used for another fork"):
        while True:
            if isinstance(command, c.Save) and first is None:
                first = bench.run(face.fork(source.id, append={"messages": ["first"]}, key="k"))
            try:
                answer = bench.do(command)
            except bp.NotFound as error:
                command = call.throw(error)
            else:
                command = call.send(answer)
    assert first is not None
    assert bench.run(face.latest(thread="run")).state["messages"][-1] == "first"


def test_a_fork_with_a_key_can_be_made_again(bench: Bench) -> None:
    """The fork is gone, but a later checkpoint still uses its bytes."""
    face = bench.face()
    source = bench.run(face.save(thread="run", agent="write", state={"messages": ["m" * 600] * 40}))
    fork = {"append": {"messages": ["f" * 600] * 10}, "key": "k"}
    first = bench.run(face.fork(source.id, **fork))
    grown = bench.run(face.latest(thread="run")).state["messages"] + ["later" * 100]
    later = bench.run(face.save(thread="run", agent="write", state={"messages": grown}))
    bench.do(c.Expire(first.id))
    again = bench.run(face.fork(source.id, **fork))
    assert bench.run(face.restore(again.id)).state["messages"][-1] == "f" * 600
    assert bench.run(face.restore(later.id)).state["messages"] == grown


def test_a_job_that_goes_on_from_another_thread_may_end_with_its_first_checkpoint(bench: Bench) -> None:
    origin = bench.save(None, thread="run")
    fence, last = bench.start(origin=origin), new_checkpoint()
    bench.do(c.Complete(fence, b"result", last))
    [row] = bench.line(fence.job_id)
    commit = read_commit(row.commit, row.id)
    assert (row.id, commit.step_index, commit.parent) == (last.id, 0, origin)


@pytest.mark.parametrize("saves", [0, 1])
def test_a_job_that_goes_on_from_another_thread_leaves_its_own_in_order(bench: Bench, saves: int) -> None:
    """What is saved there later follows what was saved there before, not the other thread."""
    origin = bench.save(None, thread="run")
    fence = bench.start(origin=origin)
    saved = [bench.save(fence, thread=fence.job_id) for _ in range(saves)]
    bench.do(c.Complete(fence, b"result"))
    last = bench.save(None, thread=fence.job_id)
    rows = bench.line(fence.job_id)[::-1]
    assert [row.id for row in rows] == [*saved, last]
    commits = [read_commit(row.commit, row.id) for row in rows]
    assert [commit.parent for commit in commits] == ([origin, *saved] if saves else [""])
    assert [commit.step_index for commit in commits] == list(range(saves + 1))
