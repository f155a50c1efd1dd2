"""Missing nodes: nodes where a checkpoint continues, but which the current graph no longer has.

LangGraph ignores them: a graph whose next node was renamed would end there, as if it were done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import TASKS
from langgraph.graph.state import CompiledStateGraph

from ....contracts.builtin_types import class_of
from ..internals import ERROR_SOURCE_NODE, HANDLER
from .progress import Latest

# The channels by which a StateGraph has a node run next, once something is in them: `branch:to:NODE`, and
# `join:NODE+NODE:NODE`, whose value is the nodes that have come, with a flag beside them if the last one is deferred.
_BRANCH, _JOIN = "branch:to:", "join:"
# A task's stored path names the node that was triggered, then the places of the calls in it. For a node's error
# handler, it has a mark after the node's name.
_PULLED, _CALLS = "~__pregel_pull, ", re.compile(rf"(, {HANDLER})?(, \d{{10}})+$")
# What a task writes without having ended.
_UNENDED = frozenset({*WRITES_IDX_MAP, ERROR_SOURCE_NODE})


def lost_nodes(graph: Any, kept: Sequence[Latest]) -> set[str]:
    """What runs next, but is not in the graph. `kept` are its namespaces' latest checkpoints."""
    parts = dict(_parts("", graph))
    lost: set[str] = set()
    for each in _running(kept):
        inside = _names(each.namespace)
        if (part := parts.get(inside)) is not None:
            lost.update(_missing(part, f"{inside}|" if inside else "", each))
    return lost


def _parts(name: str, graph: Any) -> Iterator[tuple[str, Any]]:
    """A graph and the graphs that are its nodes, by the names of their namespaces. (Which graphs a node's function
    runs, and in which order, can't be known.)"""
    yield name, graph
    for inner, node in graph.nodes.items():
        if class_of(node.bound) is CompiledStateGraph:
            yield from _parts(f"{name}|{inner}" if name else inner, node.bound)


def _names(namespace: str) -> str:
    """A namespace as LangGraph names subgraphs: without the tasks' ids."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))


def _running(kept: Sequence[Latest]) -> Iterator[Latest]:
    """The checkpoints from which a graph continues. Not those of parts whose task has ended (a part that was left by
    `Command(graph=Command.PARENT)` stays as it was then), and not those of an earlier visit to a part that keeps its
    state."""
    ids = {each.namespace: each.read.checkpoint["id"] for each in kept}
    ended = {(each.namespace, name) for each in kept for name in ended_tasks(each)}
    for each in kept:
        around: Mapping[str, str] = each.read.metadata.get("parents", {})
        node, _, task = each.namespace.rpartition("|")[2].partition(":")
        outer = max(around, key=len, default="")
        if (outer, task or node) not in ended and all(ids.get(name) == at for name, at in around.items()):
            yield each


def ended_tasks(latest: Latest) -> Iterator[str]:
    """The tasks of a superstep that have ended, by their ids and by the nodes that were triggered."""
    for task, channel, _ in latest.read.pending_writes or ():
        if channel not in _UNENDED:
            yield task
            yield latest.paths.get(task, "").removeprefix(_PULLED)


def _missing(graph: Any, inside: str, latest: Latest) -> Iterator[str]:
    """What runs next, or had begun to, and is not in the graph."""
    nodes = {_node_of(path) for path in latest.paths.values()} - {""}
    written = [write[1:] for write in latest.read.pending_writes or ()]
    for channel, value in [*latest.read.checkpoint["channel_values"].items(), *written]:
        if channel == TASKS:
            nodes |= {send.node for send in (value if class_of(value) is list else [value])}
        elif channel in graph.channels:
            continue
        elif channel.startswith(_BRANCH):
            nodes.add(channel.removeprefix(_BRANCH))
        elif channel.startswith(_JOIN) and value and value != (set(), False):
            before, _, last = channel.removeprefix(_JOIN).rpartition(":")
            gone = {last} - graph.nodes.keys() or set(before.split("+")) - graph.nodes.keys()
            nodes |= gone
            if not gone:
                yield f"the edge from {before.replace('+', ' and ')} to {last}"
    yield from (f"node {inside + name!r}" for name in nodes - graph.nodes.keys())


def _node_of(path: str) -> str:
    """The node that was triggered: a task's own, or that in which it was called. "" for a task that was sent."""
    return _CALLS.sub("", path.rpartition(_PULLED)[2]) if _PULLED in path else ""
