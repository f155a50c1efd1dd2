"""Graphs made by chance, the same one for each saver: their nodes write, ask, fail, send, command and nest."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, RetryPolicy, Send, interrupt
from pydantic import BaseModel

from .graphs import LONG, together

Node = Callable[[Any], Any]


class Point(BaseModel):
    """A value of a user's own."""

    x: int
    name: str = ""


def _into(before: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A reducer that changes what it is given."""
    before.update(new)
    return before


def _latest(before: list[Any], new: list[Any]) -> list[Any]:
    return [*before, *new][-5:]


def _with(before: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**before, **new}


class State(TypedDict, total=False):
    trace: Annotated[list[str], operator.add]
    lines: Annotated[list[str], DeltaChannel(together, snapshot_frequency=3)]
    box: Annotated[dict[str, Any], _with]
    window: Annotated[list[Any], _latest]
    messages: Annotated[list[AnyMessage], add_messages]


class Changed(State, total=False):
    """A state of which a value is changed in place."""

    box: Annotated[dict[str, Any], _into]


@dataclass
class Made:
    """What chance has decided on: nodes by name and kind, and where each leads. `in_place`: a reducer changes what it
    is given. `inner` is the graph in its node of the kind "part", which `keeps` its state from run to run."""

    in_place: bool
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    edges: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    inner: Made | None = None
    keeps: bool = False


_KINDS = ["write", "write", "chat", "remove", "ask", "retry", "command", "late", "part"]


def made(chance: Random, *, depth: int = 0, in_place: bool = False, side_by_side: bool | None = None) -> Made:
    """A graph without loops. Nodes that run side by side neither fail nor change anything in place, because what the
    others have done by then is a matter of time."""
    if side_by_side is None:
        side_by_side = chance.random() < 0.6
        in_place = not side_by_side and chance.random() < 0.6
    graph = Made(in_place, keeps=bool(depth) and chance.random() < 0.3)
    names = [f"{'inner' if depth else 'node'}{number}" for number in range(chance.randint(1, 5 - 2 * depth))]
    for name in names:
        kind = chance.choice([*_KINDS, "send" if side_by_side else "fail"])
        if kind == "part" and (depth or graph.inner):
            kind = "ask"
        if kind == "part":
            graph.inner = made(chance, depth=depth + 1, in_place=in_place, side_by_side=side_by_side)
        graph.kinds[name] = kind
    graph.edges = [(START, names[0])]
    for number, name in enumerate(names[1:], start=1):
        before = [names[number - 1], chance.choice([START, *names[:number]])]
        graph.edges += [(each, name) for each in dict.fromkeys(before if side_by_side else before[:1])]
    return graph


def build(plan: Made, saver: BaseCheckpointSaver[Any] | bool | None) -> Any:
    """The graph, compiled."""
    graph: Any = StateGraph(Changed if plan.in_place else State)
    for name, kind in plan.kinds.items():
        options: dict[str, Any] = {}
        if kind == "retry":
            options["retry_policy"] = RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=ValueError)
        if kind == "late":
            options["defer"] = True
        if kind == "send":
            graph.add_node(f"{name}.work", _work(name))
            graph.add_conditional_edges(name, _sends(name), [f"{name}.work"])
        if kind == "command":
            options["destinations"] = (name, END)
        part = build(plan.inner, True if plan.inner.keeps else None) if kind == "part" and plan.inner else None
        graph.add_node(name, part or _node(name, kind), **options)
    for before, after in plan.edges:
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


def _node(name: str, kind: str) -> Node:
    return _NODES.get(kind, _writes)(name)


def _writes(name: str) -> Node:
    def node(state: Any) -> Any:
        count = len(state.get("trace", ()))
        value: Any = [Point(x=count), Decimal(count), (name, count), LONG, {"deep": [{"n": count}]}][count % 5]
        said = f"{name} {count} {LONG}"
        return {"trace": [said], "lines": [said], "box": {f"key {count % 7}": value}, "window": [value]}

    return node


def _chats(name: str) -> Node:
    def node(state: Any) -> Any:
        count = len(state.get("messages", ()))
        return {"trace": [name], "messages": [AIMessage(f"{LONG} {count}", id=f"{name} {count % 4}")]}

    return node


def _removes(name: str) -> Node:
    def node(state: Any) -> Any:
        gone: Any = [RemoveMessage(id=str(each.id)) for each in state.get("messages", ())[:1]]
        return {"trace": [name], "messages": [*gone, HumanMessage(name, id=f"{name} {len(state.get('trace', ()))}")]}

    return node


def _asks(name: str) -> Node:
    def node(_: Any) -> Any:
        first = interrupt({"asks": name, "of": Decimal(1)})
        second = interrupt({"asks": f"{name} again"}) if first == "more" else ""
        return {"trace": [f"{name} {first}{second}"], "lines": [name]}

    return node


def _fails(name: str) -> Node:
    """Fails the first time, so that the next run goes on from there."""
    failed: set[int] = set()

    def node(state: Any) -> Any:
        count = len(state.get("trace", ()))
        if count not in failed:
            failed.add(count)
            raise ValueError(f"{name} at {count}")
        return {"trace": [name]}

    return node


def _sends(name: str) -> Callable[[Any], list[Send]]:
    def route(state: Any) -> list[Send]:
        return [Send(f"{name}.work", {"number": number, "of": Point(x=number)}) for number in range(3)]

    return route


def _work(name: str) -> Node:
    def node(given: Any) -> Any:
        answer = interrupt({"number": given["number"]}) if given["number"] == 1 and name.endswith("1") else ""
        return {"trace": [f"{name} sent {given['number']} {given['of'].x}{answer}"]}

    return node


def _commands(name: str) -> Node:
    """Goes around as long as there is little, because a part doubles its graph's trace each time: one took 20 GB."""

    def node(state: Any) -> Any:
        again = (count := len(state.get("trace", ()))) % 3 == 0 and count < 30
        return Command(update={"trace": [f"{name} goes {again}"]}, goto=name if again else END)

    return node


_NODES: dict[str, Callable[[str], Node]] = {
    "chat": _chats,
    "remove": _removes,
    "ask": _asks,
    "fail": _fails,
    "retry": _fails,
    "command": _commands,
}
