"""Allowlist: the types that may be restored, from what a graph declares and what a saver's user names."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from types import UnionType
from typing import Any, Union, cast

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from ....contracts.errors import BadSetup
from ..internals import build_serde_allowlist, response_format_of
from .hints import has_fields, hashable, hints_of, is_class, parts_of
from .values import TypeName

# Through these, LangGraph looks for classes.
_PASSED: frozenset[Any] = frozenset({Union, UnionType, list, set, tuple, dict, deque, frozenset})
# A generic class may hold itself, and have ever other brackets then.
_FORMS = 20


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
            found |= _allowlist([each])
            found.add((each.__module__, each.__name__))
    return found


def declared_types(graph: Any, others: Sequence[type[Any]]) -> set[tuple[str, ...]]:
    """(module, name) of every type that the graph, its subgraphs and `others` declare: what may be restored."""
    found = _allowlist(list(others))
    for part in with_subgraphs(graph):
        schemas: list[Any] = []
        if is_a(part, CompiledStateGraph):
            builder = part.builder
            schemas = [builder.state_schema, builder.input_schema, builder.output_schema]
            schemas += [node.input_schema for node in builder.nodes.values()]
            schemas += [response_format_of(node.runnable) for node in builder.nodes.values()]
        found |= _allowlist(schemas, getattr(part, "channels", {}))
    return found


def _allowlist(schemas: list[Any], channels: dict[str, Any] | None = None) -> set[tuple[str, ...]]:
    """As LangGraph finds them, and also those that stand for the type variables of generic classes."""
    return set(build_serde_allowlist(schemas=[*schemas, *_classes_in(schemas)], channels=channels))


def _classes_in(hints: list[Any]) -> list[type[Any]]:
    """The classes that are declared in these, and in the fields of those."""
    usual, left = build_serde_allowlist(), list(hints)
    forms: dict[Any, set[Any]] = {}
    for hint in left:  # which grows meanwhile
        kind, args = parts_of(hint)
        passed = kind in _PASSED
        if not passed and (not is_class(kind) or (kind.__module__, kind.__name__) in usual):
            continue
        known, form = forms.setdefault(kind, set()), hashable(args)
        if form not in known and (passed or len(known) < _FORMS):
            known.add(form)
            left += args if passed else hints_of(hint).values() if has_fields(kind) else ()
    return [kind for kind in forms if kind not in _PASSED]


def with_subgraphs(graph: Any) -> list[Any]:
    """The graph and the subgraphs that LangGraph finds in its nodes."""
    return [graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))]


def _has_name(each: object) -> bool:
    pair = isinstance(each, tuple) and all(isinstance(text, str) for text in cast("Any", each))
    return pair or isinstance(each, type | StateGraph | Pregel)


def is_a(made: object, kind: type[Any]) -> bool:
    """isinstance, without the unknown type arguments to which a checker would narrow."""
    return isinstance(made, kind)
