"""Allowlist: the types that may be restored, from what a graph declares and what a saver's user names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from ....contracts.errors import BadSetup
from ..internals import build_serde_allowlist, response_format_of
from .values import TypeName


def types_of(named: Collection[Any]) -> set[TypeName]:
    """(module, name) of classes and all that they declare: state schemas, models, or graphs with their subgraphs. A
    pair of names is taken as it is."""
    given: Any = named  # users without a type checker give anything
    if isinstance(given, str) or not isinstance(given, Collection) or not all(map(_has_name, cast("Any", given))):
        raise BadSetup(
            f"allow={given!r}, but it must be a list of classes, graphs, or pairs of a module's and a class's name"
        )
    found: set[TypeName] = set()
    for each in named:
        if isinstance(each, tuple):
            found.add(cast("TypeName", each))
        elif is_a(each, StateGraph):
            found |= declared_types(each.compile(), ())
        elif is_a(each, Pregel):
            found |= declared_types(each, ())
        else:
            found |= build_serde_allowlist(schemas=[each])
            found.add((each.__module__, each.__name__))
    return found


def declared_types(graph: Any, others: Sequence[type[Any]]) -> set[tuple[str, ...]]:
    """(module, name) of every type that the graph, its subgraphs and `others` declare: what may be restored."""
    found = set(build_serde_allowlist(schemas=list(others)))
    for part in with_subgraphs(graph):
        schemas: list[Any] = []
        if is_a(part, CompiledStateGraph):
            builder = part.builder
            schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
            schemas += [node.input_schema for node in builder.nodes.values()]
            schemas += [response_format_of(node.runnable) for node in builder.nodes.values()]
        found |= build_serde_allowlist(schemas=schemas, channels=getattr(part, "channels", {}))
    return found


def with_subgraphs(graph: Any) -> list[Any]:
    """The graph and the subgraphs that LangGraph finds in its nodes."""
    return [graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))]


def _has_name(each: object) -> bool:
    pair = isinstance(each, tuple) and all(isinstance(text, str) for text in cast("Any", each))
    return pair or isinstance(each, type | StateGraph | Pregel)


def is_a(made: object, kind: type[Any]) -> bool:
    """isinstance, without the unknown type arguments to which a checker would narrow."""
    return isinstance(made, kind)
