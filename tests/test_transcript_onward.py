"""A conversation goes on through a graph. The graph's messages stand for it only if the graph was given it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import interrupt

import batonpass as bp
from batonpass.testing import serving

from .apps.kit import question
from .apps.switch_desk import Draft, Graph, Topic, reviewers, tip, writers

pytestmark = [
    pytest.mark.usefixtures("log", "seen"),
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Words(TypedDict, total=False):
    text: str


def one_node(state: type, node: Any) -> Any:
    graph: Graph = StateGraph(state)
    return graph.add_node("node", node).add_edge(START, "node")


def upper() -> Any:
    return one_node(Words, lambda state: {"text": state["text"].upper()})


def chat() -> Any:
    return one_node(MessagesState, lambda state: {"messages": [AIMessage("own answer")]})


def summary() -> Any:
    drop = RemoveMessage(REMOVE_ALL_MESSAGES)
    return one_node(MessagesState, lambda state: {"messages": [drop, HumanMessage("in short"), AIMessage("own")]})


def reader() -> Any:
    """A graph with a node that copies what it wants of the conversation into the graph's messages."""

    def read(state: Any) -> Any:
        return {"messages": [HumanMessage(f"{len(bp.current().transcript.messages)} before"), AIMessage("own")]}

    return one_node(MessagesState, read)


def ignore(topic: Topic, ctx: bp.Context) -> Any:
    return {"messages": [HumanMessage("own question")]}


def heed(topic: Topic, ctx: bp.Context) -> Any:
    return {"messages": [HumanMessage(" / ".join(message.text for message in ctx.transcript.messages))]}


def line(middle: Callable[[], Any], **options: Any) -> bp.App:
    """A team talks, a graph goes on, a crew is told."""
    app = bp.App("line")

    def on(result: Any, ctx: bp.Context) -> bp.Handoff[Topic]:
        return bp.Handoff("graph", Topic(text="and on"), transcript=True)

    def onward(result: Any, ctx: bp.Context) -> bp.Handoff[Topic]:
        return bp.Handoff("write", Topic(text="streams"), transcript=True)

    app.autogen("talk", accepts=Topic, hands_to={"graph": Topic}, leave=on)(reviewers)
    app.langgraph("graph", accepts=Topic, hands_to={"write": Topic}, leave=onward, **options)(middle)
    app.crewai("write", accepts=Topic, returns=Draft)(writers)
    return app


@pytest.mark.parametrize("url", ["sqlite", "redis"])
@pytest.mark.parametrize(
    ("middle", "options", "told"),
    [
        (upper, {}, ["hello", "approved"]),
        (chat, {"enter": ignore}, ["hello", "approved", "own question", "own answer"]),
        (chat, {"enter": heed}, ["hello / approved", "own answer"]),
        (chat, {}, ["hello", "approved", "and on", "own answer"]),
        (reader, {"enter": ignore}, ["own question", "2 before", "own"]),
        (summary, {}, ["in short", "own"]),
    ],
    ids=["no messages", "enter takes no notice", "enter tells it", "told", "a node tells it", "told and shortened"],
)
async def test_a_crew_is_told_what_was_said_before_a_graph(
    url: str,
    middle: Callable[[], Any],
    options: dict[str, Any],
    told: list[str],
    request: pytest.FixtureRequest,
    seen: dict[str, Any],
) -> None:
    async with serving(line(middle, **options), request.getfixturevalue(f"{url}_url")) as coordinator:
        job = await coordinator.submit("talk", Topic(text="hello"))
        await job.result(timeout=30)
        assert [message["content"] for message in seen["crewai"][1:-1]] == told
        ended = await coordinator.transcript(await tip(job))
        assert [message.text for message in ended.messages[: len(told)]] == told


def asking(state: Any) -> Any:
    interrupt("go on?")
    return {"messages": [AIMessage("own answer")]}


async def test_what_a_graph_has_heard_is_known_when_it_goes_on_after_an_answer(seen: dict[str, Any]) -> None:
    def make() -> Any:
        graph: Graph = StateGraph(MessagesState)
        graph.add_node("first", lambda state: {"messages": [AIMessage("let me see")]})
        return graph.add_node("node", asking).add_edge(START, "first").add_edge("first", "node")

    app = line(make, enter=ignore)
    async with serving(app) as coordinator:
        job = await coordinator.submit("talk", Topic(text="hello"))
        assert await question(job) == "go on?"
        await job.answer("yes")
        await job.result(timeout=30)
    said = [message["content"] for message in seen["crewai"][1:-1]]
    assert said == ["hello", "approved", "own question", "let me see", "own answer"]


async def test_what_others_said_while_a_graph_waited_comes_once_and_in_order(seen: dict[str, Any]) -> None:
    """A graph that hands its job off in the middle, and takes only the payload of what comes back."""

    def gate(state: Any) -> Any:
        back = interrupt(bp.Handoff("review", Topic(text="good?"), transcript=True))
        return {"messages": [AIMessage(f"so {back.text}")]}

    def make() -> Any:
        graph: Graph = StateGraph(MessagesState)
        graph.add_node("first", lambda state: {"messages": [AIMessage("let me ask")]})
        return graph.add_node("gate", gate).add_edge(START, "first").add_edge("first", "gate")

    def back(result: Any, ctx: bp.Context) -> bp.Handoff[Topic]:
        return bp.Handoff("graph", Topic(text="yes"), transcript=True)

    app = bp.App("back")
    options: Any = {"memory": "job", "hands_to": {"review": Topic, "write": Topic}}
    options["leave"] = lambda result, ctx: bp.Handoff("write", Topic(text="streams"), transcript=True)
    app.langgraph("graph", accepts=Topic, **options)(make)
    app.autogen("review", accepts=Topic, hands_to={"graph": Topic}, leave=back)(reviewers)
    app.crewai("write", accepts=Topic, returns=Draft)(writers)
    async with serving(app) as coordinator:
        job = await coordinator.submit("graph", Topic(text="hello"))
        await job.result(timeout=30)
    said = [message["content"] for message in seen["crewai"][1:-1]]
    assert said == ["hello", "let me ask", "good?", "approved", "so yes"]
