"""`own`: runs on one thread queue, and a run that lost the thread can't put to it any more."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import anyio
import pytest
from anyio import to_thread
from langgraph.graph import START, StateGraph

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.saver import owning
from tests.harness.waiting import wait_until

from .graphs import Runner, Trace, chat, say

pytestmark = pytest.mark.capability("langgraph")


def elsewhere(call: Any) -> Any:
    """The result of a call that is made outside of this context."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.Context().run, call).result()


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_what_is_put_inside_is_the_owners(durability: Any, side: str, saver: BatonpassSaver, thread: str) -> None:
    graph = chat(saver)
    config: Any = {"configurable": {"thread_id": thread}}

    def busy() -> None:
        with pytest.raises(bp.ThreadBusy):
            graph.invoke(say("from outside"), config)

    async def owned() -> None:
        async with saver.own(thread):
            await graph.ainvoke(say("mine"), config, durability=durability)
            await asyncio.to_thread(elsewhere, busy)
            await graph.ainvoke(say("mine again"), config, durability=durability)

    if side == "async":
        asyncio.run(owned())
    else:
        with saver.own(thread):
            graph.invoke(say("mine"), config, durability=durability)
            elsewhere(busy)
            graph.invoke(say("mine again"), config, durability=durability)
    runner = Runner(graph, thread, side)
    runner.run(say("after"))
    said = [message.text for message in runner.state().values["messages"] if message.type == "human"]
    assert said == ["mine", "mine again", "after"]


@pytest.mark.parametrize("nested", [False, True])
def test_nodes_that_run_side_by_side_are_the_owners(nested: bool, saver: BatonpassSaver, thread: str) -> None:
    """From sync code, LangGraph stores what the first one wrote from the thread where it ran, without its context."""
    config: Any = {"configurable": {"thread_id": thread}}
    both = threading.Barrier(2)

    def stored() -> bool:
        return any(write[1:] == ("trace", ["first"]) for at in saver.list(config) for write in at.pending_writes or ())

    def first(state: Trace) -> Trace:
        both.wait(timeout=10)
        return {"trace": ["first"]}

    def second(state: Trace) -> Trace:
        both.wait(timeout=10)
        wait_until(stored, timeout=10)
        return {"trace": ["second"]}

    def pair() -> StateGraph[Any]:
        builder = StateGraph(Trace)
        for node in (first, second):
            builder.add_node(node)
            builder.add_edge(START, node.__name__)
        return builder

    builder = StateGraph(Trace).add_node("pair", pair().compile()).add_edge(START, "pair") if nested else pair()
    with saver.own(thread):
        assert builder.compile(checkpointer=saver).invoke({"trace": []}, config)["trace"] == ["first", "second"]


def test_a_generators_block_may_go_on_and_end_in_other_contexts(saver: BatonpassSaver, thread: str) -> None:
    """A web framework takes each item of a sync generator in another thread, with a new copy of the context."""
    graph = chat(saver)
    config: Any = {"configurable": {"thread_id": thread}}

    def streamed() -> Iterator[Any]:
        with saver.own(thread, wait=0):
            yield from graph.stream(say("mine"), config)

    for _ in range(2):
        items = streamed()
        while contextvars.copy_context().run(next, items, None) is not None:
            pass
    assert graph.get_state(config).values["turns"] == 2


async def test_leaving_own_inside_a_generator_releases_the_thread(saver: BatonpassSaver, thread: str) -> None:
    """Such a generator is closed by the event loop, in a task of its own."""
    graph = chat(saver)
    config: Any = {"configurable": {"thread_id": thread}}

    async def streamed() -> AsyncIterator[Any]:
        async with saver.own(thread, wait=0):
            async for item in graph.astream(say("mine"), config):
                yield item

    async for _ in streamed():
        break
    async with saver.own(thread, wait=10):
        await graph.ainvoke(say("the next"), config)
    await graph.ainvoke(say("without a lease"), config)
    assert (await graph.aget_state(config)).values["turns"] == 3


async def test_a_run_that_outlives_its_block_is_told_so(saver: BatonpassSaver, thread: str) -> None:
    graph = chat(saver)
    config: Any = {"configurable": {"thread_id": thread}}
    over = asyncio.Event()

    async def late() -> None:
        await over.wait()
        with pytest.raises(bp.Fenced, match=r"the block of own\(.* has ended"):
            await graph.ainvoke(say("late"), config)

    async with saver.own(thread):
        running = asyncio.create_task(late())
    over.set()
    await running
    await graph.ainvoke(say("the next"), config)
    assert (await graph.aget_state(config)).values["turns"] == 1


async def test_a_cancelled_block_gives_the_thread_back(saver: BatonpassSaver, thread: str) -> None:
    """As when a web framework cancels the response to a client who has gone: it cancels each await, not one."""
    with anyio.CancelScope() as scope:
        async with saver.own(thread):
            scope.cancel()
            await anyio.sleep(60)
    async with saver.own(thread, wait=0):
        pass


async def test_the_end_of_a_block_does_not_hold_up_its_loop(
    saver: BatonpassSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is being renewed, and the store does not answer."""
    asked, answers = threading.Event(), threading.Event()

    def silent(_: object) -> None:
        asked.set()
        answers.wait(timeout=20)

    monkeypatch.setattr(owning._Keeper, "_run", silent)
    began = time.monotonic()
    async with saver.own(thread):
        await asyncio.to_thread(asked.wait, 10)
    assert time.monotonic() - began < 4
    answers.set()


def test_runs_queue(saver: BatonpassSaver, thread: str) -> None:
    async def one(number: int) -> None:
        async with saver.own(thread):
            await chat(saver).ainvoke(say(f"from {number}"), {"configurable": {"thread_id": thread}})

    async def all_of_them() -> None:
        await asyncio.gather(*map(one, range(5)))

    asyncio.run(all_of_them())
    assert Runner(chat(saver), thread, "sync").state().values["turns"] == 5


@pytest.mark.parametrize("wait", [0.1, timedelta(milliseconds=100)])
def test_who_waits_too_long_is_told(wait: float | timedelta, saver: BatonpassSaver, thread: str) -> None:
    def waits() -> None:
        with pytest.raises(bp.ThreadBusy, match=r"waited 0\.1 s"), saver.own(thread, wait=wait):
            raise AssertionError

    with saver.own(thread, lease=timedelta(minutes=1)):
        elsewhere(waits)
    with saver.own(thread, wait=0):
        pass


@pytest.mark.parametrize("wrong", [float("nan"), "0.1"])
def test_what_is_no_time_to_wait(wrong: Any, saver: BatonpassSaver, thread: str) -> None:
    with saver.own(thread), pytest.raises(bp.BadSetup):
        saver.own(thread, wait=wrong)


def test_a_thread_on_which_a_job_runs_is_the_jobs(shared_url: str, thread: str) -> None:
    app = bp.App("owning")

    @app.agent("slow", accepts=bp.State, returns=bp.State)
    async def slow(given: bp.State) -> bp.State:
        return given

    with bp.connect(shared_url, app=app) as coordinator, BatonpassSaver.from_url(shared_url) as saver:
        coordinator.submit("slow", bp.State(), thread=thread)
        with pytest.raises(bp.ThreadBusy), saver.own(thread, wait=0):
            raise AssertionError
        with pytest.raises(bp.ThreadBusy):
            Runner(chat(saver), thread, "sync").run(say("hello"))


def test_nothing_is_left_of_an_owner(shared_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(shared_url) as saver, bp.connect(shared_url) as coordinator:
        with saver.own(thread):
            Runner(chat(saver), thread, "sync").run(say("hello"))
        assert coordinator.jobs() == []
        assert len(coordinator.timeline(thread=thread)) == 3


def test_an_owner_that_lost_the_thread_is_fenced(saver: BatonpassSaver, thread: str) -> None:
    def takes_over() -> None:
        with saver.own(thread, wait=60):
            Runner(chat(saver), thread, "sync").run(say("the second"))

    runner = Runner(chat(saver), thread, "sync")
    with pytest.raises(bp.Fenced), saver.own(thread, lease=0.2) as owning:
        runner.run(say("the first"))
        owning._keeper.stop()  # type: ignore[union-attr]  # as if this process had slept
        elsewhere(takes_over)
        with pytest.raises(bp.Fenced):
            runner.run(say("the first again"))
    said = [message.text for message in runner.state().values["messages"] if message.type == "human"]
    assert said == ["the first", "the second"]


@pytest.mark.parametrize("side", ["sync", "async"])
def test_an_owner_that_lost_the_thread_learns_of_it_at_the_end_of_its_block(
    side: str, saver: BatonpassSaver, thread: str
) -> None:
    """It may have done things outside of the thread, as its only owner."""

    def takes_over() -> None:
        with saver.own(thread, wait=60):
            pass

    async def owns() -> None:
        async with saver.own(thread, lease=0.2) as owning:
            owning._keeper.stop()  # type: ignore[union-attr]
            await to_thread.run_sync(elsewhere, takes_over)

    with pytest.raises(bp.Fenced, match="was lost before the end of this block"):
        if side == "async":
            anyio.run(owns)
        with saver.own(thread, lease=0.2) as owning:
            owning._keeper.stop()  # type: ignore[union-attr]
            elsewhere(takes_over)
    with pytest.raises(ZeroDivisionError), saver.own(thread, lease=0.2) as owning:
        owning._keeper.stop()  # type: ignore[union-attr]
        elsewhere(takes_over)
        raise ZeroDivisionError  # an error of the block's own is not hidden


_OWNER = """
import sys, time
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.saver import owning
saver = BatonpassSaver.from_url(sys.argv[1])
with saver.own(sys.argv[2], lease=0.5):
    print("owned", flush=True)
    time.sleep(60)
"""


def test_the_thread_of_a_killed_owner_is_taken_over(shared_url: str, thread: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER, shared_url, thread], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
        with BatonpassSaver.from_url(shared_url) as saver:
            with pytest.raises(bp.ThreadBusy):
                Runner(chat(saver), thread, "sync").run(say("too early"))
            process.kill()
            began = time.monotonic()
            with saver.own(thread, wait=60):
                Runner(chat(saver), thread, "sync").run(say("now"))
            assert time.monotonic() - began < 50


def test_deaths_of_owners_hold_up_nobody(saver: BatonpassSaver, thread: str) -> None:
    """A job that workers died of waits longer after each death. Owners do not die of the job that keeps their place."""

    def dies() -> None:
        owning = saver.own(thread, lease=0.1, wait=30)
        owning.__enter__()
        owning._keeper.stop()  # type: ignore[union-attr]

    for _ in range(6):  # the last one's would wait for 8 s
        elsewhere(dies)
    with saver.own(thread, wait=4):
        Runner(chat(saver), thread, "sync").run(say("now"))


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_block_inside_of_its_own_is_refused(side: str, saver: BatonpassSaver, thread: str) -> None:
    """It would wait for the outer one, for ever."""
    refused: Any = pytest.raises(bp.BadSetup, match=r"this task owns thread .* already")

    async def owned() -> None:
        with anyio.fail_after(10):
            async with saver.own(thread):
                with refused:
                    await saver.own(thread).__aenter__()
                with refused, saver.own(thread, wait=0):
                    pass
            async with saver.own(thread):
                pass

    if side == "async":
        asyncio.run(owned())
        return
    with saver.own(thread):
        with refused, saver.own(thread, wait=60):
            pass
        with refused, saver.own(thread):
            pass
        with saver.own(f"{thread} other"):
            pass
    with saver.own(thread):
        pass


async def test_a_task_that_was_begun_in_the_block_may_wait_for_its_end(saver: BatonpassSaver, thread: str) -> None:
    async def next_turn() -> None:
        async with saver.own(thread, wait=10):
            pass

    async with saver.own(thread):
        waiting = asyncio.create_task(next_turn())
        while not waiting.done() and not getattr(waiting.get_coro(), "cr_await", None):
            await asyncio.sleep(0)
    await waiting
