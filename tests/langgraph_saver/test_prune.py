"""`coordinator.prune` and `batonpass prune` on the threads of savers: whatever goes, what stays can go on."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from tests.harness.waiting import wait_until

from .graphs import Runner, chat, delta, say

pytestmark = pytest.mark.capability("langgraph")

DAY = 86_400.0


class Trace(TypedDict, total=False):
    trace: Annotated[list[str], operator.add]


def waiting(saver: BatonpassSaver) -> Any:
    """A graph that asks within two subgraphs, after several steps of each."""
    inner: Any = StateGraph(Trace)
    inner.add_sequence([(f"in{n}", lambda _, n=n: {"trace": [f"in{n}"]}) for n in range(4)])
    inner.add_node("asks", lambda _: {"trace": [interrupt("sure?")]})
    inner.add_edge(START, "in0")
    inner.add_edge("in3", "asks")
    middle: Any = StateGraph(Trace)
    middle.add_node("before", lambda _: {"trace": ["before"]})
    middle.add_node("inner", inner.compile())
    middle.add_edge(START, "before")
    middle.add_edge("before", "inner")
    outer: Any = StateGraph(Trace)
    outer.add_node("outer", lambda _: {"trace": ["outer"]})
    outer.add_node("middle", middle.compile())
    outer.add_edge(START, "outer")
    outer.add_edge("outer", "middle")
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("options", [{"keep_last": 1}, {"keep_last": 3}, {"keep_last": 1, "older_than": DAY}])
def test_a_thread_that_waits_in_a_subgraph_goes_on(options: dict[str, Any], store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(waiting(saver), thread, "sync")
        runner.run({"trace": ["in"]})
        before, count = runner.state(), len(coordinator.timeline(thread, limit=100))
        freed = coordinator.prune(thread, **options)
        assert (freed == 0) == ("older_than" in options)
        assert len(coordinator.timeline(thread, limit=100)) == count - freed
        after = runner.state()
        assert (after.values, after.next, after.interrupts) == (before.values, before.next, before.interrupts)
        ended = runner.run(Command(resume="yes"))
        assert (ended["trace"][:2], ended["trace"][-1]) == (["in", "outer"], "yes")
        assert Counter(ended["trace"])["in0"] == 1


@pytest.mark.parametrize("turns", range(1, 9))
@pytest.mark.parametrize("keep_last", [1, 2, 5])
def test_what_a_delta_channel_is_made_of_stays(turns: int, keep_last: int, store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(delta(saver), thread, "sync")
        for turn in range(turns):
            runner.run({"turns": turn})
        history = runner.history()
        coordinator.prune(thread, keep_last=keep_last)
        left = {key_of(each): each.values for each in runner.history()}
        assert [left[key_of(each)] for each in history[:keep_last]] == [each.values for each in history[:keep_last]]
        runner.run({"turns": turns})
        assert len(runner.state().values["lines"]) == turns + 1


def key_of(state: Any) -> str:
    return str(state.config["configurable"]["checkpoint_id"])


def test_old_and_new_threads_and_names(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(chat(saver), thread, "sync")
        for text in ("one", "two"):
            runner.run(say(text))
        count = len(runner.history())
        named = coordinator.timeline(thread=thread)[3]
        coordinator.name(named.id, "keep")
        assert coordinator.prune(thread, older_than=DAY) == 0
        assert coordinator.prune(thread, keep_last=2) == count - 3
        wait_until(lambda: coordinator.prune(thread, older_than=0.001) == 2, what="the end of all but the named one")
        assert [each.name for each in coordinator.timeline(thread=thread)] == ["keep"]
        assert coordinator.prune(thread, keep_last=0, keep_named=False) == 1
        assert coordinator.timeline(thread=thread) == []


def remembering(saver: BatonpassSaver) -> Any:
    """A graph with a subgraph that remembers its earlier calls (checkpointer=True). It is not called in every turn."""
    inner: Any = StateGraph(Trace)
    inner.add_node("inner", lambda state: {"trace": ["inner"]})
    inner.add_edge(START, "inner")
    sub = inner.compile(checkpointer=True)
    outer: Any = StateGraph(Trace)
    outer.add_node("calls", lambda _: {"trace": [f"it has {len(sub.invoke({'trace': ['asked']})['trace'])}"]})
    outer.add_node("other", lambda _: {"trace": ["other"]})
    outer.add_conditional_edges(START, lambda state: "calls" if state["trace"][-1] == "call" else "other")
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("options", [{"keep_last": 1}, {"keep_last": 3}, {"older_than": DAY, "keep_last": 1}])
def test_what_a_subgraph_remembers_stays(options: dict[str, Any], store_url: str, thread: str) -> None:
    """Also if it was not called in what else stays. Of subgraphs that remember nothing, nothing stays."""
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(remembering(saver), thread, "sync")
        for say in ("call", "call", "no", "no"):
            runner.run({"trace": [say]})
        freed = coordinator.prune(thread, **options)
        assert (freed == 0) == ("older_than" in options)
        assert runner.run({"trace": ["call"]})["trace"][-1] == "it has 6"


def test_a_thread_that_is_over_and_had_subgraphs(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(waiting(saver), thread, "sync")
        for _ in range(2):
            runner.run({"trace": ["in"]})
            runner.run(Command(resume="yes"))
        coordinator.prune(thread, keep_last=1)
        assert len(coordinator.timeline(thread, limit=100)) == 1


class Note(bp.Contract, name="prune-tests.note"):
    text: str = ""


@pytest.mark.parametrize("first", ["saver", "job"])
async def test_a_job_and_a_saver_on_one_thread(first: str, store_url: str, thread: str) -> None:
    """The checkpoints of each are counted apart: the newest of both stay, and the others go."""
    app = bp.App("prune-tests")

    @app.agent("steps", accepts=Note, returns=Note)
    async def steps(note: Note, ctx: bp.Context) -> Note:
        for number in range(8):
            await ctx.step(f"s{number}", str, number)
        return note

    async with (
        BatonpassSaver.from_url(store_url) as saver,
        bp.connect(store_url, app=app) as coordinator,
        app.worker(coordinator),
    ):
        for turn in (first, "job" if first == "saver" else "saver"):
            if turn == "job":
                await (await coordinator.submit("steps", Note(), returns=Note, thread=thread)).result(timeout=60)
            else:
                await chat(saver).ainvoke(say("one"), {"configurable": {"thread_id": thread}})
        every = await coordinator.timeline(thread, limit=100)
        freed = await coordinator.prune(thread, keep_last=2)
        left = await coordinator.timeline(thread, limit=100)
        assert len(left) == 4 == len(every) - freed
        assert {each.framework for each in left} == {each.framework for each in every}
        assert (await chat(saver).aget_state({"configurable": {"thread_id": thread}})).values["messages"]
