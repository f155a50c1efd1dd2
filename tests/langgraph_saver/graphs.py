"""Graphs that the saver's tests run, with scripted nodes, and one way to run them from sync and from async code."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

LONG = "a rather long answer that is worth a place of its own in a log, because it says so much " * 4


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


class Trace(TypedDict, total=False):
    trace: Annotated[list[str], operator.add]
    answers: Annotated[list[Any], operator.add]


def together(before: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*before, *(item for write in writes for item in write)]


class Delta(TypedDict, total=False):
    lines: Annotated[list[str], DeltaChannel(together, snapshot_frequency=4)]
    turns: int


class Runner:
    """Runs a graph from one side."""

    def __init__(self, graph: Any, thread: str, side: str) -> None:
        self.graph = graph
        self.thread = thread
        self.side = side
        self.config: Any = {"configurable": {"thread_id": thread}}

    def run(self, given: Any, config: Any = None, **more: Any) -> Any:
        """What an invoke gives."""
        config = config or self.config
        return self._do(self.graph.invoke, self.graph.ainvoke, given, config, **more)

    def state(self, config: Any = None, **more: Any) -> Any:
        return self._do(self.graph.get_state, self.graph.aget_state, config or self.config, **more)

    def update(self, config: Any, values: Any, **more: Any) -> Any:
        return self._do(self.graph.update_state, self.graph.aupdate_state, config or self.config, values, **more)

    def history(self, **some: Any) -> list[Any]:
        """All states, or some, newest first."""
        if self.side == "sync":
            return list(self.graph.get_state_history(self.config, **some))

        async def listed() -> list[Any]:
            return [state async for state in self.graph.aget_state_history(self.config, **some)]

        return asyncio.run(listed())

    def _do(
        self, sync: Callable[..., Any], coroutine: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **more: Any
    ) -> Any:
        return sync(*args, **more) if self.side == "sync" else asyncio.run(coroutine(*args, **more))


def chat(saver: BaseCheckpointSaver[Any], **options: Any) -> Any:
    """One node that answers."""

    def answer(state: Chat) -> Chat:
        turn = state.get("turns", 0) + 1
        return {"messages": [AIMessage(f"{LONG} {turn}")], "turns": turn}

    graph: Any = StateGraph(Chat)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    return graph.compile(checkpointer=saver, **options)


def say(text: str) -> Chat:
    """What a user says."""
    return {"messages": [HumanMessage(text)]}


def fan(saver: BaseCheckpointSaver[Any]) -> Any:
    """Two nodes at once, then tasks that are sent, then a command."""
    graph: Any = StateGraph(Trace)
    graph.add_node("left", lambda _: {"trace": ["left"]})
    graph.add_node("right", lambda _: {"trace": ["right"]})
    graph.add_node("work", lambda given: {"trace": [f"work {given['number']}"]})

    def join(state: Trace) -> Command[Any]:
        return Command(update={"trace": ["join"]}, goto="last" if len(state.get("trace", ())) > 2 else END)

    graph.add_node("join", join, destinations=("last", END))
    graph.add_node("last", lambda _: {"trace": ["last"]})
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_conditional_edges("left", lambda _: [Send("work", {"number": n}) for n in range(3)], ["work"])
    graph.add_edge(["right", "work"], "join")
    return graph.compile(checkpointer=saver)


def ask(saver: BaseCheckpointSaver[Any]) -> Any:
    """Two nodes that ask at the same time, and one that does not."""
    graph: Any = StateGraph(Trace)
    graph.add_node("free", lambda _: {"trace": ["free"]})
    for name in ("one", "two"):
        graph.add_node(name, _asking(name))
    graph.add_node("close", lambda state: {"trace": [f"close {len(state['answers'])}"]})
    for name in ("free", "one", "two"):
        graph.add_edge(START, name)
    graph.add_edge(["free", "one", "two"], "close")
    return graph.compile(checkpointer=saver)


def _asking(name: str) -> Any:
    def node(_: Trace) -> Trace:
        first = interrupt({"asks": name})
        second = interrupt({"asks": f"{name} again"}) if first == "more" else ""
        return {"trace": [name], "answers": [f"{first}{second}"]}

    return node


def nested(saver: BaseCheckpointSaver[Any]) -> Any:
    """A subgraph that asks within a graph."""
    inner: Any = StateGraph(Trace)
    inner.add_node("before", lambda _: {"trace": ["before"]})
    inner.add_node("asks", _asking("inner"))
    inner.add_edge(START, "before")
    inner.add_edge("before", "asks")
    outer: Any = StateGraph(Trace)
    outer.add_node("first", lambda _: {"trace": ["first"]})
    outer.add_node("part", inner.compile())
    outer.add_node("after", lambda _: {"trace": ["after"]})
    outer.add_edge(START, "first")
    outer.add_edge("first", "part")
    outer.add_edge("part", "after")
    return outer.compile(checkpointer=saver)


def delta(saver: BaseCheckpointSaver[Any]) -> Any:
    """A delta channel that is kept as a whole now and then."""
    graph: Any = StateGraph(Delta)
    graph.add_node(
        "write", lambda state: {"lines": [f"line {state.get('turns', 0)} {LONG}"], "turns": state.get("turns", 0) + 1}
    )
    graph.add_edge(START, "write")
    return graph.compile(checkpointer=saver)


def functional(saver: BaseCheckpointSaver[Any]) -> Any:
    """An entrypoint that adds to what it returned before."""

    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint(checkpointer=saver)
    def add(number: int, *, previous: Any = None) -> Any:
        return entrypoint.final(value=len(previous or []), save=[*(previous or []), double(number).result()])

    return add
