"""Whole threads: copied, pruned, deleted, without cutting what delta channels are made of."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.record.checkpoint import nodes_around

from .graphs import LONG, Runner, Trace, ask, chat, delta, nested, say
from .telling import told, values

pytestmark = pytest.mark.capability("langgraph")


def written(saver: BaseCheckpointSaver[Any], thread: str, turns: int) -> Runner:
    runner = Runner(delta(saver), thread, "sync")
    for turn in range(turns):
        runner.run({"turns": turn})
    return runner


@pytest.mark.parametrize("turns", range(1, 8))
def test_pruning_keeps_what_a_delta_channel_is_made_of(turns: int, saver: BatonpassSaver, thread: str) -> None:
    runner = written(saver, thread, turns)
    before = runner.state().values
    count = len(runner.history())
    saver.prune([thread])
    assert runner.state().values == before
    assert len(before["lines"]) == turns
    assert len(runner.history()) <= min(count, 12)
    runner.run({"turns": turns})
    assert runner.state().values["lines"][:-1] == before["lines"]


def test_pruning_keeps_the_latest_of_each_namespace_and_what_has_a_name(url: str, thread: str) -> None:
    if url == "memory://":
        pytest.skip("another process's memory")
    with BatonpassSaver.from_url(url) as saver, bp.connect(url) as coordinator:
        runner = Runner(chat(saver), thread, "sync")
        for text in ("one", "two"):
            runner.run(say(text))
        named = coordinator.timeline(thread=thread)[3]
        coordinator.name(named.id, "keep")
        saver.prune([thread], strategy="keep_latest")
        assert len(runner.history()) == 2
        assert coordinator.restore(thread=thread, name="keep").id == named.id
        saver.prune([thread], strategy="delete")
        assert runner.history() == []
        with pytest.raises(bp.BadSetup, match="keep_latest"):
            saver.prune([thread], strategy="shrink")


def test_deleting_a_run_keeps_what_later_ones_are_made_of(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(delta(saver), thread, "sync")
    for turn in range(3):
        runner.run({"turns": turn}, {"configurable": {"thread_id": thread}, "metadata": {"run_id": f"run {turn}"}})
    before = runner.state().values
    saver.delete_for_runs(["run 0", "run 1"])
    assert runner.state().values == before
    saver.delete_for_runs(["run 2", "none"])
    assert len(runner.state().values["lines"]) < 3


def test_a_run_is_deleted_with_what_it_wrote(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(chat(saver), thread, "sync")
    for number in (1, 2):
        runner.run(say("hello"), {"configurable": {"thread_id": thread}, "metadata": {"run_id": f"run {number}"}})
    kept = [state for state in runner.history() if state.metadata["run_id"] == "run 1"]
    saver.delete_for_runs(["run 2"])
    assert told(runner.history(), ()) == told(kept, ())
    runner.run(say("again"))
    assert runner.state().values["turns"] == 2


def of_run(thread: str, run: str) -> Any:
    return {"configurable": {"thread_id": thread}, "metadata": {"run_id": run}}


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_run_that_answered_is_deleted_with_its_answer(side: str, saver: BatonpassSaver, thread: str) -> None:
    """Even if its node had asked before, and was answered. What follows does not see the answer."""

    def node(state: Trace) -> Trace:
        return {"trace": [f"{interrupt('first?')} {interrupt('second?')}"]}

    graph: Any = StateGraph(Trace)
    graph.add_node("node", node)
    graph.add_node("free", lambda _: {"trace": [LONG]})
    graph.add_edge(START, "node")
    graph.add_edge(START, "free")
    runner = Runner(graph.compile(checkpointer=saver), thread, side)
    runner.run({"trace": ["in"]}, of_run(thread, "asks"))
    runner.run(Command(resume="one"), of_run(thread, "asks again"))
    before = told(runner.history(), ())
    for answer in ("wrong", "wrong again"):
        done = runner.run(Command(resume=answer), of_run(thread, answer))
        assert f"one {answer}" in done["trace"]
        saver.delete_for_runs([answer])
        assert told(runner.history(), ()) == before
        [asked] = runner.state().interrupts
        assert asked.value == "second?"
    assert runner.run(Command(resume="two"))["trace"] == ["in", LONG, "one two"]
    saver.delete_for_runs(["nobody's"])
    assert runner.state().next == ()


def test_a_run_that_answered_a_subgraph_is_deleted_with_its_answer(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(nested(saver), thread, "sync")
    runner.run({"trace": ["in"]}, of_run(thread, "asks"))
    before = told(runner.history(), ())
    runner.run(Command(resume="wrong"), of_run(thread, "answers"))
    saver.delete_for_runs(["answers"])
    assert told(runner.history(), ()) == before
    done = runner.run(Command(resume="right"))
    assert "wrong" not in str(done)
    assert "right" in str(done)


@pytest.mark.parametrize("stop", [{"interrupt_before": ["b"]}, {"interrupt_after": ["a"]}], ids=["before", "after"])
@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_run_that_went_on_from_a_breakpoint_is_deleted(
    side: str, stop: dict[str, Any], saver: BatonpassSaver, thread: str
) -> None:
    """The results of its first superstep used to stay, and were not made again."""
    runner = Runner(_line(saver, [], **stop), thread, side)
    runner.run({"trace": ["in"]}, of_run(thread, "stops"))
    before = told(runner.history(), ())
    for _ in range(2):
        assert runner.run(None, of_run(thread, "goes on"))["trace"] == ["in", "a", "b", "c"]
        saver.delete_for_runs(["goes on"])
        assert told(runner.history(), ()) == before
        assert runner.state().next == ("b",)
    assert runner.run(None)["trace"] == ["in", "a", "b", "c"]


def test_a_run_that_went_on_after_an_error_is_deleted(saver: BatonpassSaver, thread: str) -> None:
    """What had failed runs again, what had not does not."""
    fails = ["b"]
    graph = _line(saver, fails, aside=True)
    runner = Runner(graph, thread, "sync")
    with pytest.raises(ValueError, match="fails"):
        runner.run({"trace": ["in"]}, {**of_run(thread, "fails"), "max_concurrency": 1})
    before, ran = told(runner.history(), ()), graph.ran
    fails.clear()
    for times in (1, 2, 3):
        runner.run(None, of_run(thread, "goes on"))
        assert (ran.count("aside"), ran.count("b")) == (1, times + 1)
        saver.delete_for_runs(["goes on"])
        assert told(runner.history(), ()) == before


def test_a_run_with_new_input_leaves_what_it_passed_over(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(_line(saver, [], interrupt_before=["b"]), thread, "sync")
    runner.run({"trace": ["in"]}, of_run(thread, "stops"))
    before = told(runner.history(), ())
    runner.run({"trace": ["more"]}, of_run(thread, "again"))
    saver.delete_for_runs(["again"])
    assert told(runner.history(), ()) == before


def _line(saver: BatonpassSaver, fails: list[str], *, aside: bool = False, **stop: Any) -> Any:
    """Nodes one after the other, and one `aside`, beside the second (before it, if one runs at a time). `ran` has them
    in the order in which they ran."""
    ran: list[str] = []

    def node(name: str) -> Any:
        def run(state: Trace) -> Trace:
            ran.append(name)
            if name in fails:
                raise ValueError(f"{name} fails")
            return {"trace": [name]}

        return run

    graph: Any = StateGraph(Trace)
    for name in ("a", "b", "c", "aside"):
        graph.add_node(name, node(name))
    for line in ((START, "a"), ("a", "b"), ("b", "c"), *([("a", "aside")] if aside else [])):
        graph.add_edge(*line)
    made = graph.compile(checkpointer=saver, **stop)
    made.ran = ran
    return made


def test_what_another_branch_was_made_of_stays(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(nested(saver), thread, "sync")
    runner.run({"trace": ["in"]}, of_run(thread, "asks"))
    at = runner.state().config
    runner.run(Command(resume="one"), of_run(thread, "one"))
    branch = {**at, "metadata": {"run_id": "two"}}
    runner.run(Command(resume="two"), branch)
    wrote = [each.pending_writes for each in saver.list(at)]
    saver.delete_for_runs(["two"])
    assert [each.pending_writes for each in saver.list(at)] == wrote


@pytest.mark.parametrize("make", [chat, ask, nested, delta])
def test_a_copy_is_the_same_and_goes_its_own_way(make: Any, saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(make(saver), thread, "sync")
    for _ in range(3 if make in (chat, delta) else 1):
        runner.run(say("hello") if make is chat else {"turns": 1} if make is delta else {"trace": ["in"]})
    saver.copy_thread(thread, f"{thread} copy")
    copy = Runner(make(saver), f"{thread} copy", "sync")
    assert told(copy.history(), ()) == told(runner.history(), ())
    copied = [each.pending_writes for each in saver.list(copy.config)]
    assert values(copied) == values([each.pending_writes for each in saver.list(runner.config)])
    history = told(runner.history(), ())
    copy.run(say("more") if make is chat else None)
    assert told(runner.history(), ()) == history
    saver.delete_thread(thread)
    assert copy.state().values
    with pytest.raises(bp.NotFound):
        saver.copy_thread("nobody's", "other")


def test_the_history_of_a_delta_channel_is_as_in_memory(saver: BatonpassSaver, thread: str) -> None:
    ours, theirs = (written(each, thread, 6) for each in (saver, InMemorySaver()))
    for one, other in zip(ours.history(), theirs.history(), strict=True):
        mine = saver.get_delta_channel_history(config=one.config, channels=["lines", "turns", "none"])
        right = theirs.graph.checkpointer.get_delta_channel_history(
            config=other.config, channels=["lines", "turns", "none"]
        )
        assert {name: _bare(each) for name, each in mine.items()} == {name: _bare(each) for name, each in right.items()}
    assert saver.get_delta_channel_history(config=ours.config, channels=[]) == {}
    assert saver.get_delta_channel_history(config=ours.config, channels=["lines"]) == saver.get_delta_channel_history(
        config=ours.history()[0].config, channels=["lines"]
    )


def _bare(history: Any) -> Any:
    return [write[1:] for write in history["writes"]], history.get("seed", "none")


def test_a_thread_is_seen_by_the_other_tools(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(chat(saver), thread, "sync")
        runner.run(say("hello"))
        runner.run(say("again"))
        line = coordinator.timeline(thread=thread)
        assert [each.step for each in line] == ["answer", "input", "input", "answer", "input", "input"]
        assert line[0].framework == "langgraph"
        assert line[0].context["step"] == 4
        assert [len(coordinator.restore(each.id).state.get("messages", [])) for each in line] == [4, 3, 2, 2, 1, 0]
        assert coordinator.diff(line[3].id, line[0].id)


def test_a_timeline_says_which_checkpoints_are_a_subgraphs(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(nested(saver), thread, "sync")
        runner.run({"trace": ["in"]}, durability="sync")
        runner.run(Command(resume="yes"), durability="sync")
        steps = [each.step for each in reversed(coordinator.timeline(thread=thread))]
    assert steps == [
        *("input", "input", "first", "part: input", "part: input", "part: before", "part: asks", "part", "after")
    ]


@pytest.mark.parametrize(
    ("scope", "around"),
    [("", []), ("part:1f1e", ["part"]), ("a:1|b:2", ["a", "b"]), ("call:1|1", ["call"]), ("fixed", ["fixed"])],
)
def test_a_namespace_names_the_nodes_around(scope: str, around: list[str]) -> None:
    assert nodes_around(scope) == around
