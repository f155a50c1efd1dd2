"""What a graph's nodes write to LangGraph's stream is on the job's stream."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.types import StreamWriter

import batonpass as bp
from batonpass.coordinator.commands import Command, Emit
from batonpass.coordinator.store import Store
from batonpass.testing import serving
from batonpass.workers.session import LeaseSession

from ..apps.langgraph_app import Topic, Words
from ..apps.langgraph_kit import graph, only

pytestmark = pytest.mark.capability("langgraph")


async def streamed(factory: Any) -> tuple[list[Any], list[str]]:
    """What the job streamed, and its result."""
    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        parts = [part async for part in job.stream()]
        return parts, (await job.result(timeout=20)).notes


async def test_from_nodes_and_from_parts_in_order() -> None:
    def first(state: Any) -> Any:
        write = get_stream_writer()
        for number in range(3):
            write({"token": number})
        return {"notes": ["first"]}

    async def inside(state: Any, writer: StreamWriter) -> Any:
        writer("inside")
        await bp.current().emit("emitted")
        return {"notes": ["inside"]}

    def make() -> Any:
        made = StateGraph(Words).add_node("first", first).add_node("part", graph(inside, state=Words).compile())
        return made.add_edge(START, "first").add_edge("first", "part")

    parts, notes = await streamed(make)
    assert parts[:3] == [{"token": 0}, {"token": 1}, {"token": 2}]
    assert sorted(parts[3:]) == ["emitted", "inside"]
    assert notes == ["first", "first", "inside"]


async def test_an_object_is_streamed_as_what_it_says() -> None:
    def chunk(state: Any) -> Any:
        get_stream_writer()(AIMessageChunk(content="so"))
        return {"notes": ["done"]}

    [part], _ = await streamed(lambda: graph(chunk))
    assert (part["type"], part["content"]) == ("AIMessageChunk", "so")


async def test_many_at_once_are_several_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A write of thousands of values would hold up everyone who uses the store."""
    sizes: list[int] = []

    async def flood(state: Any) -> Any:
        for number in range(1200):
            get_stream_writer()(number)
        return {"notes": ["done"]}

    async with serving(only(lambda: graph(flood))) as coordinator:
        sent = type(coordinator.store).acall

        async def noted(store: Store, command: Command[Any]) -> Any:
            if isinstance(command, Emit):
                sizes.append(len(command.data))
            return await sent(store, command)

        monkeypatch.setattr(type(coordinator.store), "acall", noted)
        job = await coordinator.submit("a", Topic(text="rain"))
        await job.result(timeout=20)
        assert [part async for part in job.stream()] == [*range(200, 1200)]  # a stream keeps the last 1,000
    assert (sum(sizes), max(sizes)) == (1200, 500)


async def test_nothing_goes_on_when_the_attempt_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store does not answer, so a thread that waited for it would outlive the attempt, and the worker."""
    sending = anyio.Event()

    async def emits(session: LeaseSession, values: Sequence[Any]) -> None:
        sending.set()
        await anyio.sleep_forever()

    async def endless(state: Any) -> Any:
        get_stream_writer()("first")
        try:
            await anyio.sleep_forever()
        finally:
            get_stream_writer()("last")

    monkeypatch.setattr(LeaseSession, "aemit", emits)
    before = asyncio.all_tasks()
    async with serving(only(lambda: graph(endless))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with anyio.fail_after(20):
            await sending.wait()
        await job.cancel()
    left = asyncio.all_tasks() - before
    assert [task for task in left if "Streaming" in str(task.get_coro())] == []
