"""A node that passes its job on begins again when the job is back (`memory="job"`). What it had done then is not done
again, wherever in it that was recorded. What another node did is done anew if the graph comes back to it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

import batonpass as bp

from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import graph, passed_on, returning
from ..workers.serving import DEADLINE, serving

pytestmark = pytest.mark.capability("langgraph")
DONE: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _fresh() -> None:
    DONE.clear()


def done(name: str) -> None:
    DONE[name] += 1


def in_threads(ctx: bp.SyncContext, node: str) -> None:
    """A step and two effects of a node, each in a thread of its own, which knows nothing of the graph."""
    with ThreadPoolExecutor(2) as threads:
        threads.submit(ctx.step, "fetch", done, f"{node} fetches", key=node).result()
        for number in range(2):
            threads.submit(ctx.effect, f"{node}{number}", done, f"{node} pays {number}").result()


def times(number: int, *nodes: str) -> dict[str, int]:
    return {f"{node} {what}": number for node in nodes for what in ("fetches", "pays 0", "pays 1")}


async def ran(factory: Callable[..., Any]) -> list[str]:
    async with serving(returning(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        return (await job.result(timeout=DEADLINE)).notes


async def test_what_a_node_did_in_its_own_threads_is_not_done_again() -> None:
    def pays(state: Any) -> Any:
        in_threads(bp.current().sync, "pays")
        return {"notes": [passed_on("one"), passed_on("two")]}

    assert await ran(lambda: graph(pays)) == ["one back", "two back"]
    assert times(1, "pays") == DONE


async def test_nor_if_the_threads_use_the_context_that_the_factory_got() -> None:
    """If it is the only node that runs, the threads are this node's."""

    def desk(ctx: bp.Context) -> Any:
        def pays(state: Any) -> Any:
            in_threads(ctx.sync, "pays")
            return {"notes": [passed_on("one")]}

        return graph(pays)

    assert await ran(desk) == ["one back"]
    assert times(1, "pays") == DONE


def two_at_once(ctx: bp.Context | None = None) -> Any:
    """Two nodes, of which the second one passes the job on. Then the graph comes back to both."""
    both = threading.Event()

    def first(state: Any) -> Any:
        assert both.wait(DEADLINE)
        in_threads(ctx.sync if ctx else bp.current().sync, "first")

    def second(state: Any) -> Any:
        both.set()
        number = len(state.get("notes", ()))
        in_threads(ctx.sync if ctx else bp.current().sync, f"second {number}")
        return {"notes": [passed_on(f"round {number}")]}

    made = StateGraph(Words).add_node("first", first).add_node("second", second)
    made.add_node("again", lambda state: {}).add_edge(START, "first").add_edge(START, "second")
    made.add_edge(["first", "second"], "again")
    return made.add_conditional_edges(
        "again", lambda state: END if len(state["notes"]) > 1 else ["first", "second"], ["first", "second", END]
    )


async def test_of_two_nodes_at_once_each_has_what_its_own_threads_did() -> None:
    assert await ran(lambda: two_at_once()) == ["round 0 back", "round 1 back"]
    assert times(2, "first") | times(1, "second 0", "second 1") == DONE


async def test_if_a_thread_may_be_of_either_node_nothing_is_done_again() -> None:
    assert await ran(lambda ctx: two_at_once(ctx)) == ["round 0 back", "round 1 back"]
    assert times(1, "first", "second 0", "second 1") == DONE


def by_rounds(ctx: bp.Context, call: Callable[[bp.SyncContext, int], Any]) -> Any:
    """Two nodes, of which the first one calls with the round's number, in a thread that may be of either. The second
    one passes the job on, and the graph comes back to both."""
    began = [threading.Event() for _ in range(3)]

    def first(state: Any) -> Any:
        number = len(state.get("notes", ()))
        assert began[number].wait(DEADLINE)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(call, ctx.sync, number).result()
        if (number, ctx.attempt) == (1, 1):
            raise ValueError("the next attempt finds what this one did")

    def second(state: Any) -> Any:
        number = len(state.get("notes", ()))
        began[number].set()
        return {"notes": [passed_on(f"round {number}")]}

    made = StateGraph(Words).add_node("first", first).add_node("second", second)
    made.add_node("again", lambda state: {}).add_edge(START, "first").add_edge(START, "second")
    made.add_edge(["first", "second"], "again")
    return made.add_conditional_edges(
        "again", lambda state: END if len(state["notes"]) > 2 else ["first", "second"], ["first", "second", END]
    )


def fetch(ctx: bp.SyncContext, number: int) -> None:
    ctx.step("fetch", done, f"fetch {number}", key="f")


def pay(ctx: bp.SyncContext, number: int) -> None:
    def paying(what: str) -> None:
        done(what)
        done(ctx.effect_key("pay"))

    ctx.effect("pay", paying, f"pay {number}")


@pytest.mark.parametrize("call", [fetch, pay])
async def test_a_node_that_calls_with_other_arguments_in_a_later_visit_does_that_anew(call: Any) -> None:
    """What was perhaps the waiting node's is still there, but is not taken for this node's. (It was, and failed.)"""
    assert await ran(lambda ctx: by_rounds(ctx, call)) == [f"round {number} back" for number in range(3)]
    assert {what for what in DONE if " " in what} == {f"{call.__name__} {number}" for number in range(3)}
    assert set(DONE.values()) == {1}


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["", "own saver"])
@pytest.mark.parametrize("names", [{}, {"checkpoint_ns": ""}], ids=["", "namespace"])
async def test_nor_is_what_a_graph_did_that_a_node_runs_on_another_thread(saver: Any, names: dict[str, str]) -> None:
    async def pay(state: Any) -> Any:
        await bp.current().effect("pay", done, "paid")

    inner = graph(pay).compile(checkpointer=saver and saver())

    async def asks(state: Any) -> Any:
        await inner.ainvoke({"text": "x"}, {"configurable": {"thread_id": "other", **names}})
        return {"notes": [passed_on("one")]}

    assert await ran(lambda: graph(asks)) == ["one back"]
    assert DONE == {"paid": 1}


async def test_nor_if_that_graph_has_callbacks_of_its_own() -> None:
    def pay(state: Any) -> Any:
        in_threads(bp.current().sync, "inner")

    inner = graph(pay).compile()

    def asks(state: Any) -> Any:
        inner.invoke({"text": "x"}, {"configurable": {"thread_id": "other"}, "callbacks": []})
        return {"notes": [passed_on("one")]}

    assert await ran(lambda: graph(asks)) == ["one back"]
    assert times(1, "inner") == DONE


@pytest.mark.parametrize("own", [False, True], ids=["", "on another thread"])
async def test_a_node_to_which_the_graph_comes_back_does_anew_what_its_threads_did(own: bool) -> None:
    """It had finished before the job was passed on."""

    def pay(state: Any) -> Any:
        in_threads(bp.current().sync, "plan")

    inner = graph(pay).compile()

    def plan(state: Any) -> Any:
        inner.invoke({"text": "x"}, {"configurable": {"thread_id": "other"}}) if own else pay(state)

    def delegate(state: Any) -> Any:
        return {"notes": [passed_on("x")]}

    def desk() -> Any:
        made = StateGraph(Words).add_node("plan", plan).add_node("delegate", delegate)
        made.add_edge(START, "plan").add_edge("plan", "delegate")
        return made.add_conditional_edges(
            "delegate", lambda state: END if len(state["notes"]) > 2 else "plan", ["plan", END]
        )

    assert await ran(desk) == ["x back"] * 3
    assert times(3, "plan") == DONE


@pytest.mark.parametrize("threads", [False, True], ids=["", "in threads"])
@pytest.mark.parametrize("at_once", [False, True], ids=["", "at once"])
async def test_nor_is_what_the_node_found_that_another_one_had_done(threads: bool, at_once: bool) -> None:
    """In the same hop, the second call of a step or an effect returns what the first one has recorded. So it still does
    when the node that has called it second begins again."""

    def open_account() -> None:
        ctx = bp.current().sync
        if threads:
            return in_threads(ctx, "account")
        ctx.step("fetch", done, "account fetches", key="account")
        for number in range(2):
            ctx.effect(f"account{number}", done, f"account pays {number}")

    def first(state: Any) -> Any:
        open_account()
        return {"notes": [passed_on("first")]} if at_once else {}

    def second(state: Any) -> Any:
        time.sleep(0.3 * at_once)
        open_account()
        return {"notes": [passed_on("second")]}

    def desk() -> Any:
        made = StateGraph(Words).add_node("first", first).add_node("second", second).add_edge(START, "first")
        return made.add_edge(START if at_once else "first", "second")

    assert await ran(desk) == [*(["first back"] * at_once), "second back"]
    assert times(1, "account") == DONE


async def test_nor_what_a_task_did_that_others_found_after_it_had_stopped() -> None:
    """The record stays its own, too, although it does not run any more."""
    stopped = threading.Event()

    def work(state: Any) -> Any:
        if state["number"]:
            assert stopped.wait(DEADLINE)
        bp.current().sync.effect("open", done, "open")
        if state["number"]:
            return {"notes": [str(state["number"])]}
        threading.Timer(0.3, stopped.set).start()
        return {"notes": [passed_on("first")]}

    def each(state: Any) -> Any:
        return [Send("work", {"number": number}) for number in range(3)]

    def desk() -> Any:
        return StateGraph(Words).add_node("work", work).add_conditional_edges(START, each, ["work"])

    assert sorted(await ran(desk)) == ["1", "2", "first back"]
    assert DONE == {"open": 1}
