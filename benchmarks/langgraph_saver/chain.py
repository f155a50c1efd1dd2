"""Chain: a graph of 20 supersteps that do nothing but note that they ran."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

SUPERSTEPS = 20


class Noted(TypedDict):
    trace: Annotated[list[str], operator.add]
    at: int


def chain(saver: Any) -> Any:
    """The graph, compiled."""
    graph: Any = StateGraph(Noted)
    names = [f"node{number}" for number in range(SUPERSTEPS)]
    for number, name in enumerate(names):
        graph.add_node(name, _node(number))
        graph.add_edge(names[number - 1] if number else START, name)
    return graph.compile(checkpointer=saver)


def _node(number: int) -> Callable[[Noted], dict[str, Any]]:
    return lambda _: {"trace": [f"step {number}"], "at": number}


def start() -> dict[str, Any]:
    """A run's input."""
    return {"trace": [], "at": 0}


def new_thread() -> RunnableConfig:
    """A config that names a thread of which nobody has heard."""
    return {"configurable": {"thread_id": secrets.token_hex(8)}, "recursion_limit": 50}
