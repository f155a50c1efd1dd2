"""Two runs on one thread: the second to put learns of it, and no turn is lost."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.saver import saver as saver_module
from tests.harness.waiting import wait_until

from .graphs import Chat, Runner, chat, say

pytestmark = pytest.mark.capability("langgraph")
DURABILITIES = ["sync", "async", "exit"]


def meanwhile(saver: BatonpassSaver, other: Callable[[], Any]) -> Any:
    """A graph whose first run lets `other` happen while its node works."""
    waits = iter([True])

    def answer(_: Chat) -> Any:
        if next(waits, False):
            # Elsewhere: within this context it would be a subgraph.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(contextvars.Context().run, other).result()
        return {"messages": [AIMessage("an answer")]}

    graph: Any = StateGraph(Chat)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver)


def texts(runner: Runner) -> list[str]:
    return [message.text for message in runner.state().values["messages"]]


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
def test_the_later_of_two_runs_is_refused(
    begun: bool, durability: Any, side: str, saver: BatonpassSaver, thread: str
) -> None:
    other = Runner(chat(saver), thread, "sync")
    if begun:
        other.run(say("long ago"))

    def overtake() -> None:
        # The slower run has put its input, if it puts anything before its end.
        wait_until(lambda: durability == "exit" or other.state().next == ("answer",))
        other.run(say("quicker"), durability=durability)

    runner = Runner(meanwhile(saver, overtake), thread, side)
    says = "another run or an update_state\\(\\) has advanced thread .*: nothing of this superstep was written"
    with pytest.raises(bp.Conflict, match=f"{says}.*its input too, may be on the thread"):
        runner.run(say("slower"), durability=durability)
    assert texts(runner)[-2] == "quicker"
    assert runner.state().next == ()
    runner.run(say("slower"), durability=durability)  # as the message says
    assert texts(runner)[-4::2] == ["quicker", "slower"]


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("left", ["nothing", "later", "earlier"])
def test_a_run_from_a_checkpoint_that_is_gone(
    left: str, durability: Any, side: str, saver: BatonpassSaver, thread: str
) -> None:
    """No other run is to blame, and so none is named."""
    runner = Runner(chat(saver), thread, side)
    runner.run(say("one"))
    past = runner.state().config
    if left == "earlier":
        past["configurable"]["checkpoint_id"] = "ffffffff-ffff-6fff-bfff-ffffffffffff"
    else:
        runner.run(say("two"))
        saver.prune([thread], strategy="delete" if left == "nothing" else "keep_latest")
    before = runner.state().values
    gone = past["configurable"]["checkpoint_id"]
    with pytest.raises(bp.NotFound, match=f"checkpoint {gone} of thread .* is not there: .* Nothing was written"):
        runner.run(say("three"), past, durability=durability)
    assert runner.state().values == before


@pytest.mark.parametrize("durability", DURABILITIES)
def test_allowed_both_succeed_and_one_turn_is_not_seen(durability: Any, url: str, thread: str) -> None:
    with BatonpassSaver.from_url(url, on_conflict="allow") as saver:
        other = Runner(chat(saver), thread, "sync")
        graph = meanwhile(saver, lambda: other.run(say("quicker"), durability=durability))
        Runner(graph, thread, "sync").run(say("slower"), durability=durability)
        assert len({text for text in texts(other) if text in ("quicker", "slower")}) == 1


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_run_from_the_past_may_branch(side: str, saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(chat(saver), thread, side)
    runner.run(say("one"))
    past = runner.state().config
    runner.run(say("two"))
    assert [m.text for m in runner.run(say("other"), past)["messages"] if m.type == "human"] == ["one", "other"]
    assert "two" not in texts(runner)


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("shows", ["this", "another"])
def test_a_run_from_the_latest_may_not_with_what_is_left_of_an_older_config(
    side: str, shows: str, saver: BatonpassSaver, thread: str
) -> None:
    """As a client has it that shows an old checkpoint, and then goes on without its id, or begins another thread."""
    old = thread if shows == "this" else f"{thread} before"
    Runner(chat(saver), old, "sync").run(say("long ago"))
    other = Runner(chat(saver), thread, "sync")

    def overtake() -> None:
        wait_until(lambda: other.state().next == ("answer",))  # the slower run's input is there
        other.run(say("quicker"))

    graph = meanwhile(saver, overtake)
    shown = graph.get_state(graph.get_state({"configurable": {"thread_id": old}}).config).config["configurable"]
    rest = {name: told for name, told in shown.items() if name != "checkpoint_id"} | {"thread_id": thread}
    with pytest.raises(bp.Conflict):
        if side == "sync":
            graph.invoke(say("slower"), {"configurable": rest})
        else:
            asyncio.run(graph.ainvoke(say("slower"), {"configurable": rest}))
    assert "quicker" in texts(other)


def test_an_update_by_hand_may_branch_and_refuses_the_run_that_it_overtakes(saver: BatonpassSaver, thread: str) -> None:
    other = Runner(chat(saver), thread, "sync")
    other.run(say("long ago"))
    graph = meanwhile(saver, lambda: other.update(None, {"turns": 40}))
    with pytest.raises(bp.Conflict):
        Runner(graph, thread, "sync").run(say("slower"))
    assert other.state().values["turns"] == 40


def test_a_checkpoint_may_be_put_again(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(chat(saver), thread, "sync")
    runner.run(say("one"))
    last = saver.get_tuple(runner.config)
    assert last is not None
    assert last.parent_config is not None
    changed = {**last.checkpoint, "channel_values": {**last.checkpoint["channel_values"], "turns": 9}}
    saver.put(last.parent_config, changed, last.metadata, {})  # type: ignore[arg-type]
    assert runner.state().values["turns"] == 9
    assert len(runner.history()) == 3


@pytest.mark.each_store
def test_many_at_once_lose_nothing(shared_url: str, thread: str) -> None:
    """Each tries until it is through."""

    def say_it(number: int) -> None:
        with BatonpassSaver.from_url(shared_url) as saver:
            runner = Runner(chat(saver), thread, "sync")
            while True:
                try:
                    runner.run(say(f"from {number}"))
                    return
                except bp.Conflict:
                    continue

    threads = [threading.Thread(target=say_it, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with BatonpassSaver.from_url(shared_url) as saver:
        runner = Runner(chat(saver), thread, "sync")
        # One that was refused in its second superstep has left its input there, and says it again.
        assert {text for text in texts(runner) if text.startswith("from")} == {f"from {n}" for n in range(4)}
        assert runner.state().values["turns"] == sum(not text.startswith("from") for text in texts(runner)) == 4


def test_a_conflict_of_an_async_run_does_not_hold_up_its_loop(saver: BatonpassSaver, thread: str) -> None:
    async def both() -> list[Any]:
        graph = chat(saver)
        config: Any = {"configurable": {"thread_id": thread}}
        runs = (asyncio.wait_for(graph.ainvoke(say(text), config), 20) for text in ("one", "two"))
        return await asyncio.gather(*runs, return_exceptions=True)

    outcomes = asyncio.run(both())
    assert sum(isinstance(outcome, bp.Conflict) for outcome in outcomes) <= 1
    assert any(isinstance(outcome, dict) for outcome in outcomes)


@pytest.mark.parametrize("durability", DURABILITIES)
def test_a_run_with_an_abandoned_stream_frees_its_thread(durability: Any, saver: BatonpassSaver, thread: str) -> None:
    """LangGraph ends such a run behind its caller's back, so the next run begins before its last put does."""

    async def answer(_: Chat) -> Any:
        await asyncio.sleep(0)
        return {"messages": [AIMessage("an answer")]}

    builder: Any = StateGraph(Chat)
    builder.add_sequence([("answer", answer), ("again", answer)])
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)

    async def runs() -> None:
        config: Any = {"configurable": {"thread_id": thread}}
        for number in range(5):
            async for _ in graph.astream(say("broken off"), config, durability=durability, stream_mode="updates"):
                break
            await graph.ainvoke(say(f"next {number}"), config, durability=durability)

    asyncio.run(runs())
    said = [text for text in texts(Runner(graph, thread, "sync")) if text.startswith("next")]
    assert said == [f"next {number}" for number in range(5)]


@pytest.mark.each_store
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_nor_does_that_run_repeat_the_finished_nodes(durability: Any, saver: BatonpassSaver, thread: str) -> None:
    """It began before what they wrote was stored."""
    ran: list[str] = []

    async def quick(_: Chat) -> Any:
        ran.append("quick")
        return {"messages": [AIMessage("an answer")]}

    async def slow(_: Chat) -> None:
        ran.append("slow")
        if ran.count("slow") == 1:
            await asyncio.Event().wait()

    builder: Any = StateGraph(Chat)
    for node in (quick, slow):
        builder.add_node(node)
        builder.add_edge(START, node.__name__)
    graph = builder.compile(checkpointer=saver)

    async def runs() -> None:
        for number in range(10):
            ran.clear()
            config: Any = {"configurable": {"thread_id": f"{thread} {number}"}}
            async for _ in graph.astream(say("broken off"), config, durability=durability, stream_mode="updates"):
                break
            await graph.ainvoke(None, config, durability=durability)
            assert sorted(ran) == ["quick", "slow", "slow"]

    asyncio.run(runs())


@pytest.mark.parametrize("way", ["put", "writes"])
def test_a_read_does_not_wait_for_a_loop_that_stands_still(
    way: str, sqlite_url: str, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of `loop.run_until_complete(...)` does when a run in it was broken off."""
    monkeypatch.setattr(saver_module, "_PATIENCE", 0.05)
    saver = BatonpassSaver.from_url(sqlite_url)
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    first, begun = empty_checkpoint(), saver._shared.batching.flight
    saver.put(config, first, {}, {})

    async def breaks_off() -> asyncio.Task[Any]:
        names: Any = {"configurable": {**config["configurable"], "checkpoint_id": first["id"]}}
        if way == "put":
            task: asyncio.Task[Any] = asyncio.create_task(saver.aput(names, empty_checkpoint(), {}, {}))
        else:
            task = asyncio.create_task(saver.aput_writes(names, [("x", 1)], "t"))
        while not begun((thread, "", ""), writes=True) and not task.done():
            await asyncio.sleep(0)
        return task

    loop = asyncio.new_event_loop()
    task = loop.run_until_complete(breaks_off())
    assert asyncio.run(saver.aget_tuple(config)) is not None
    loop.run_until_complete(task)
    loop.close()
    saver.close()
