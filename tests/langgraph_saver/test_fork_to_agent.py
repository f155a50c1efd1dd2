"""A saver's thread that is forked to an agent: the job gets its conversation and values, whatever they are made of."""

from __future__ import annotations

import datetime as dt
import operator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgpack
import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.serde.wrapped import Wrapped, contents

from .graphs import Runner, delta

pytestmark = pytest.mark.capability("langgraph")


class Note(BaseModel):
    text: str


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    of: Note


class Found(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    note: Note
    ran: Annotated[list[str], operator.add]


class Wanted(bp.Contract, name="fork.wanted"):
    note: Note
    ran: list[str]


class Seen(bp.Contract, name="fork.seen"):
    roles: list[str]
    note: str
    fields: list[str]


app = bp.App("fork")


@app.agent("reads", accepts=Wanted, returns=Seen)
async def reads(wanted: Wanted, ctx: bp.Context) -> Seen:
    roles: list[str] = [message.role for message in ctx.transcript.messages]
    return Seen(roles=roles, note=wanted.note.text, fields=sorted(ctx.transcript.variables))


@app.agent("any", accepts=bp.State, returns=Seen)
async def reads_any(state: bp.State, ctx: bp.Context) -> Seen:
    given = state.as_dict()
    roles = [message["type"] if isinstance(message, dict) else message.type for message in given["messages"]]
    return Seen(roles=roles, note=given["note"]["text"], fields=sorted(given))


@app.agent("hears", accepts=bp.State, returns=Seen)
async def hears(state: bp.State, ctx: bp.Context) -> Seen:
    return Seen(roles=[message.role for message in ctx.transcript.messages], note="", fields=[])


def retrieves(saver: BatonpassSaver) -> Any:
    """A retriever's tool leaves documents in its message, and two nodes are joined by an edge."""
    graph: Any = StateGraph(Found)
    call = {"name": "search", "args": {}, "id": "1"}
    found = ToolMessage("found", tool_call_id="1", artifact=[Document("text")])
    graph.add_node("search", lambda _: {"messages": [AIMessage("", tool_calls=[call]), found], "ran": ["search"]})
    graph.add_node("note", lambda _: {"note": Note(text="kept"), "ran": ["note"]})
    graph.add_node("end", lambda _: {"messages": [AIMessage("answer")], "ran": ["end"]})
    graph.add_edge(START, "search")
    graph.add_edge(START, "note")
    graph.add_edge(["search", "note"], "end")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("agent", "roles", "fields"),
    [
        ("reads", ["user", "assistant", "tool", "assistant"], ["note", "ran"]),
        ("any", ["human", "ai", "tool", "ai"], ["messages", "note", "ran"]),
    ],
)
async def test_an_agent_gets_all_of_it(
    agent: str, roles: list[str], fields: list[str], store_url: str, thread: str
) -> None:
    with BatonpassSaver.from_url(store_url, allow=[Note]) as saver:
        config: Any = {"configurable": {"thread_id": thread}}
        retrieves(saver).invoke({"messages": [("user", "hi")]}, config)
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        job = await coordinator.fork(last.id, agent=agent)
        seen = await coordinator.job(job.id, returns=Seen).result(timeout=60)
    assert (seen.roles, seen.note, seen.fields) == (roles, "kept", fields)


class Asked(bp.Contract, name="fork.asked"):
    text: str


class Told(bp.Contract, name="fork.told"):
    reply: str


class Kept(Found, total=False):
    text: str
    customer: dict[str, int]  # what it holds is not quite that
    point: Annotated[Point, lambda _, new: new]
    reply: str


def answers() -> Any:
    def answer(state: Any) -> Any:
        said = [message.text for message in state["messages"]]
        assert (state["note"], state["point"]) == (Note(text="kept"), Point(1, Note(text="a")))
        return {"reply": f"{state['text']} {said} {state['ran']} {state['customer']}"}

    graph: Any = StateGraph(Kept)
    return graph.add_node("answer", answer).add_edge(START, "answer")


def keys() -> Any:
    graph: Any = StateGraph(Kept)
    graph.add_node("tell", lambda state: {"reply": str(sorted(name for name, value in state.items() if value))})
    return graph.add_edge(START, "tell")


app.langgraph("keys", accepts=Asked, returns=Told)(keys)
app.langgraph("answers", accepts=Asked, returns=Told)(answers)
app.langgraph("goes_on", accepts=Asked, returns=Told, memory="thread")(answers)


@pytest.mark.parametrize("agent", ["answers", "goes_on"])
async def test_a_graph_begins_with_the_threads_values(
    agent: str, store_url: str, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The payload's fields come before them. What the graph has no key for is left out, and that is logged."""

    class More(Kept):
        other: int

    with BatonpassSaver.from_url(store_url, allow=[Note, Point]) as saver:
        more: Any = StateGraph(More)
        more.add_node("end", lambda _: {"messages": [AIMessage("hello")]})
        more.add_edge(START, "end")
        given = {"messages": [("user", "hi")], "note": Note(text="kept"), "point": Point(1, Note(text="a"))}
        more_given = {"ran": ["once"], "customer": {"id": 7, "of": "x"}, "text": "old", "other": 1}
        Runner(more.compile(checkpointer=saver), thread, "sync").run({**given, **more_given})
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        for payload, text in ((None, "old"), (Asked(text="new"), "new")):
            job = await coordinator.fork(last.id, agent=agent, payload=payload, returns=Told)
            told = (await job.result(timeout=60)).reply
            assert told == f"{text} ['hi', 'hello'] ['once'] {{'id': 7, 'of': 'x'}}"
            assert f"job {job.id}: the graph of agent {agent!r} takes no ['other'] from the thread" in caplog.text


async def test_what_the_graph_has_otherwise_or_is_to_make_is_left_out(store_url: str, thread: str) -> None:
    class Other(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        ran: int
        point: str
        reply: str

    with BatonpassSaver.from_url(store_url, allow=[Note, Point]) as saver:
        other: Any = StateGraph(Other)
        other.add_node("end", lambda _: {"messages": [AIMessage("hello")]})
        other.add_edge(START, "end")
        given = {"messages": [("user", "hi")], "ran": 1, "point": "here", "reply": "of old"}
        Runner(other.compile(checkpointer=saver), thread, "sync").run(given)
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        job = await coordinator.fork(last.id, agent="keys", payload=Asked(text="new"), returns=Told)
        assert (await job.result(timeout=60)).reply == "['messages', 'text']"


async def test_a_subgraphs_state_is_not_taken_for_the_graphs(store_url: str, thread: str) -> None:
    """It may be the newest on the thread if a subgraph waits."""
    with BatonpassSaver.from_url(store_url) as saver:
        inner: Any = StateGraph(Found)
        inner.add_node("asks", lambda _: {"ran": [interrupt("sure?")]})
        inner.add_edge(START, "asks")
        outer: Any = StateGraph(Found)
        outer.add_node("inner", inner.compile())
        outer.add_edge(START, "inner")
        config: Any = {"configurable": {"thread_id": thread}}
        outer.compile(checkpointer=saver).invoke({"ran": []}, config)
    async with bp.connect(store_url, app=app) as coordinator:
        inners = [each for each in await coordinator.timeline(thread) if each.step.startswith("inner")]
        with pytest.raises(bp.BadSetup, match=r"is a subgraph's \(inner:.*\).*fork the newest one of the graph itself"):
            await coordinator.fork(inners[0].id, agent="any")
        assert await coordinator.jobs() == []


async def test_a_state_that_is_not_all_there_is_refused(store_url: str, thread: str) -> None:
    """Nothing but the graph can make the values of its delta channels."""
    with BatonpassSaver.from_url(store_url) as saver:
        Runner(delta(saver), thread, "sync").run({"turns": 1})
    async with bp.connect(store_url, app=app) as coordinator:
        last, *_ = await coordinator.timeline(thread)
        with pytest.raises(bp.BadSetup, match=r"lines are delta channels.*Make a job from the values that"):
            await coordinator.fork(last.id, agent="any")
        assert await coordinator.jobs() == []


async def test_a_state_that_is_one_value(store_url: str, thread: str) -> None:
    """The tools show it, a fork is another branch of it, and an agent gets its conversation."""
    with BatonpassSaver.from_url(store_url) as saver:
        talk: Any = StateGraph(Annotated[list[AnyMessage], add_messages])  # type: ignore[arg-type]
        talk.add_node("answer", lambda _: [AIMessage("answer")])
        talk.add_edge(START, "answer")
        runner = Runner(talk.compile(checkpointer=saver), thread, "sync")
        for _ in range(2):
            runner.run([("user", "hi")])
        state = runner.state().values
        assert [message.type for message in state] == ["human", "ai"] * 2
        assert [each.values for each in runner.history()][-2:] == [state[:1], []]
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        last, *_ = await coordinator.timeline(thread)
        assert len((await coordinator.restore(last.id)).state["__root__"]) == 4
        job = await coordinator.fork(last.id, agent="hears", payload=bp.State())
        assert (await coordinator.job(job.id, returns=Seen).result(timeout=60)).roles == ["user", "assistant"] * 2


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Note(text="a"), {"text": "a"}),
        (Point(1, Note(text="a")), {"x": 1, "of": {"text": "a"}}),
        (Colour.RED, "red"),
        ({Colour.RED: [dt.date(2020, 1, 2), dt.timedelta(1)]}, {"red": [dt.date(2020, 1, 2), dt.timedelta(1)]}),
        ({Colour.RED: Path("/a/b")}, {"red": "/a/b"}),
        (Document("text", id="1"), {"id": "1", "metadata": {}, "page_content": "text", "type": "Document"}),
        ({Colour.RED: (Note(text="a"), {Colour.RED})}, {"red": [{"text": "a"}, ["red"]]}),
    ],
)
def test_contents_are_plain(value: Any, plain: Any) -> None:
    kind, data = JsonPlusSerializer().dumps_typed(value)
    assert contents([Wrapped(kind, data)]) == [plain]


def test_contents_of_an_array() -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray([[1.5, 2], [3, 4]]), np.array([True]), np.array(7)):
        kind, data = JsonPlusSerializer().dumps_typed(array)
        assert contents({"of": Wrapped(kind, data)}) == {"of": array.tolist()}


@dataclass(frozen=True)
class Table:
    cells: Any


def test_contents_of_keys() -> None:
    """Keys that are no texts: in an object, and an object itself."""
    for value, plain in (
        (Table({(1, 2): "x"}), {"cells": {(1, 2): "x"}}),
        (Table({Colour.RED: 1}), {"cells": {"red": 1}}),
    ):
        kind, data = JsonPlusSerializer().dumps_typed(value)
        assert contents({"of": Wrapped(kind, data)}) == {"of": plain}
    kind, data = JsonPlusSerializer().dumps_typed(Table([1]))
    assert contents({Wrapped(kind, data): 1}) == {(("cells", (1,)),): 1}


def nested(depth: int) -> bytes:
    """Objects in objects."""
    data = b"\xc0"
    for _ in range(depth):
        data = msgpack.packb(msgpack.ExtType(2, b"\x93\xc0\xc0" + data))
    return data


TOO_LATE = msgpack.packb(msgpack.ExtType(1, msgpack.packb(["datetime", "timedelta", [1 << 40, 0, 0]])))


@pytest.mark.parametrize(
    "data", [b"\xc1", b"\xc7\x01\x05\xc0", b"\xc7\x01\x05\x80", b"\xd9\xff", b"\x93\x01", TOO_LATE, nested(5000)]
)
def test_contents_that_are_damaged(data: bytes) -> None:
    with pytest.raises(bp.Corrupted, match=r"stored LangGraph value.*can't be read"):
        contents(Wrapped("msgpack", data))
