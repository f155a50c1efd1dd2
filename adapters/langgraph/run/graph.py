"""Graph: the result of a factory as a graph that can run under a job."""

from __future__ import annotations

import warnings
from typing import Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from ....contracts.agent import Agent
from ....contracts.errors import BadSetup
from ..serde.allowlist import is_a, with_subgraphs


def as_graph(agent: Agent[Any], made: Any) -> Any:
    """The compiled graph. `BadSetup` if it is something else, or could not be resumed."""
    graph: Any = made.compile() if is_a(made, StateGraph) else made
    if not is_a(graph, Pregel):
        raise BadSetup(
            f"the factory of agent {agent.name!r} returned {type(made).__name__}: "
            "return a StateGraph, a compiled graph or a Pregel"
        )
    if isinstance(graph.checkpointer, BaseCheckpointSaver):
        warnings.warn(
            f"the graph of agent {agent.name!r} has a checkpointer of its own: under a job it is not used",
            stacklevel=2,
        )
    for part in with_subgraphs(graph):
        for name, channel in getattr(part, "channels", {}).items():
            if isinstance(channel, DeltaChannel):
                raise BadSetup(
                    f"agent {agent.name!r}: the state key {name!r} is a DeltaChannel, which can't be resumed under a "
                    "job: use a plain reducer"
                )
    return graph
