"""What workers record: their agents' declarations, and that they are there."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench


def test_declarations_are_kept(bench: Bench) -> None:
    assert bench.do(c.Declared()) == {}
    bench.do(c.Declare({"write": b"1", "review": b"2"}))
    bench.do(c.Declare({"review": b"3", "plan": b"\0\xff"}))
    assert bench.do(c.Declared()) == {"write": b"1", "review": b"3", "plan": b"\0\xff"}


class Plan(bp.Contract, name="agents.plan"):
    text: str = ""


@pytest.mark.parametrize("kept", [b"damaged", pack({"accepts": "agents.plan@1", "news": 1}, path="")])
def test_one_that_can_not_be_read_keeps_none_of_the_others(bench: Bench, kept: bytes) -> None:
    """A client without the app goes by the records alone."""
    app = bp.App("agents")
    app.agent("plan", accepts=Plan, returns=Plan)(lambda plan: plan)
    bench.run(bench.face().declare(app))
    bench.do(c.Declare({"review": kept}))
    job = bench.run(bench.face(app=bp.App("other")).submit("plan", {"text": "x"}))
    assert bench.job(job.id).agent == "plan"
    with pytest.raises(bp.Corrupted, match="agent 'review'"):
        bench.run(bench.face(app=bp.App("other")).submit("review", {"text": "x"}))


def test_one_that_can_not_be_read_hides_no_conflict_of_a_key(bench: Bench) -> None:
    """A client whose app has the agent only needs the record for older versions of its contract."""
    app = bp.App("agents")
    app.agent("plan", accepts=Plan, returns=Plan)(lambda plan: plan)
    bench.do(c.Declare({"plan": b"damaged"}))
    bench.run(bench.face(app=app).submit("plan", Plan(text="x"), key="k"))
    with pytest.raises(bp.KeyConflict):
        bench.run(bench.face(app=app).submit("plan", Plan(text="y"), key="k"))


def test_an_app_without_agents_declares_nothing(bench: Bench) -> None:
    with bench.nothing_changes():
        assert bench.do(c.Declare({})) == []


def test_what_was_declared_meanwhile_is_left_alone(bench: Bench) -> None:
    bench.do(c.Declare({"write": b"1", "review": b"2"}))
    read = bench.do(c.Declared())
    bench.do(c.Declare({"review": b"3", "plan": b"4"}))
    wanted = {"write": b"5", "review": b"6", "plan": b"7", "print": b"8"}
    assert bench.do(c.Declare(wanted, read)) == ["review", "plan"]
    assert bench.do(c.Declared()) == {"write": b"5", "review": b"3", "plan": b"4", "print": b"8"}
    assert bench.do(c.Declare(wanted, bench.do(c.Declared()))) == []
    assert bench.do(c.Declared()) == wanted


def test_an_app_of_thousands(bench: Bench) -> None:
    many = {f"agent-{n}": b"x" for n in range(9000)}
    bench.do(c.Declare(many))
    assert bench.do(c.Declared()) == many


def test_workers_that_are_there_are_counted(bench: Bench) -> None:
    assert bench.do(c.Takers("q1")) == 0
    bench.do(c.Reap(worker="w1", queues=("q1", "q2"), presence=MINUTE))
    bench.do(c.Reap(worker="w2", queues=("q2",), presence=2 * MINUTE))
    bench.do(c.Reap(worker="w1", queues=("q1", "q2"), presence=MINUTE))
    assert [bench.do(c.Takers(queue)) for queue in ("q1", "q2", "q3")] == [1, 2, 0]
    bench.clock.advance(MINUTE - 2000)
    assert [bench.do(c.Takers(queue)) for queue in ("q1", "q2")] == [1, 2]
    bench.clock.advance(2000)
    assert [bench.do(c.Takers(queue)) for queue in ("q1", "q2")] == [0, 1]
    bench.do(c.Reap(worker="w1", queues=("q1",), presence=MINUTE))
    assert bench.do(c.Takers("q1")) == 1


def test_reap_without_presence_notes_nobody(bench: Bench) -> None:
    bench.do(c.Reap(worker="w1", queues=("q1",)))
    assert bench.do(c.Takers("q1")) == 0
