"""Lost: nodes at which a checkpoint goes on, and that the graph of today's code does not have.

LangGraph leaves them out: a graph whose next node was renamed would end there, as if it were done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import TASKS
from langgraph.graph.state import CompiledStateGraph

from ...contracts.agent import Agent
from ...contracts.errors import BadSetup
from .places import place_of
from .plain import class_of

# The channels by which a StateGraph has a node run next, once something is in them: `branch:to:NODE`, and
# `join:NODE+NODE:NODE`, whose value is the nodes that have come, with a flag beside them if the last one is deferred.
_BRANCH, _JOIN = "branch:to:", "join:"


def check_nodes(agent: Agent[Any], graph: Any, kept: Iterable[CheckpointTuple], where: str) -> None:
    """Refuse a graph, as `BadSetup`, that lacks nodes which run next. `kept` are its namespaces' latest checkpoints."""
    parts = dict(_parts("", graph))
    lost: dict[str, None] = {}
    for each in kept:
        inside = _names(place_of(each.config)[0][1])
        if (part := parts.get(inside)) is not None:
            found = _lost(part, each.checkpoint["channel_values"])
            lost |= dict.fromkeys(f"{inside}|{name}" if inside else name for name in found)
    if lost:
        names = ", ".join(map(repr, sorted(lost)))
        raise BadSetup(
            f"agent {agent.name!r}: {where} goes on at node {names}, which the graph does not have any more: put it "
            "back to finish the jobs that were started with it, then redrive this one"
        )


def _parts(name: str, graph: Any) -> Iterator[tuple[str, Any]]:
    """A graph and those that are its nodes, by the names of their namespaces. Which graphs a node's function runs, and
    in which order, can't be known."""
    yield name, graph
    for inner, node in graph.nodes.items():
        if class_of(node.bound) is CompiledStateGraph:
            yield from _parts(f"{name}|{inner}" if name else inner, node.bound)


def _names(namespace: str) -> str:
    """A namespace as LangGraph names subgraphs: without the tasks' ids."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))


def _lost(graph: Any, values: Mapping[str, Any]) -> Iterator[str]:
    for channel, value in values.items():
        if channel == TASKS:
            yield from (send.node for send in value if send.node not in graph.nodes)
        elif channel not in graph.channels:
            if channel.startswith(_BRANCH):
                yield channel.removeprefix(_BRANCH)
            elif channel.startswith(_JOIN) and value and value != (set(), False):
                yield channel.rpartition(":")[2]
