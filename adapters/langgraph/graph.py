"""Graph: the result of a factory as a graph that can run under a job, and the types that it declares."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from ...contracts.agent import Agent
from ...contracts.errors import BadSetup
from .internals import asked_form, build_serde_allowlist


def as_graph(agent: Agent[Any], made: Any) -> Any:
    """The compiled graph. `BadSetup` if it is something else, or could not be resumed."""
    graph: Any = made.compile() if _is(made, StateGraph) else made
    if not _is(graph, Pregel):
        raise BadSetup(
            f"the factory of agent {agent.name!r} returned {type(made).__name__}: "
            "return a StateGraph, a compiled graph or a Pregel"
        )
    if isinstance(graph.checkpointer, BaseCheckpointSaver):
        warnings.warn(
            f"the graph of agent {agent.name!r} has a checkpointer of its own: under a job it is not used",
            stacklevel=2,
        )
    for part in _parts(graph):
        for name, channel in getattr(part, "channels", {}).items():
            if isinstance(channel, DeltaChannel):
                raise BadSetup(
                    f"agent {agent.name!r}: the state key {name!r} is a DeltaChannel, which can't be resumed under a "
                    "job: use a plain reducer"
                )
    return graph


def declared_types(graph: Any, others: Sequence[type[Any]]) -> set[tuple[str, ...]]:
    """(module, name) of every type that the graph, its subgraphs and `others` declare: what may be restored."""
    found = set(build_serde_allowlist(schemas=list(others)))
    for part in _parts(graph):
        schemas: list[Any] = []
        if _is(part, CompiledStateGraph):
            builder = part.builder
            schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
            schemas += [node.input_schema for node in builder.nodes.values()]
            schemas += [asked_form(node.runnable) for node in builder.nodes.values()]
        found |= build_serde_allowlist(schemas=schemas, channels=getattr(part, "channels", {}))
    return found


def _parts(graph: Any) -> list[Any]:
    """The graph and the subgraphs that LangGraph finds in its nodes."""
    return [graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))]


def _is(made: object, kind: type[Any]) -> bool:
    """isinstance, without the unknown type arguments to which a checker would narrow."""
    return isinstance(made, kind)
