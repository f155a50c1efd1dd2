"""Allowing: finds the types that a saver may restore, from what its user names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from ...contracts.errors import BadSetup
from .graph import declared_types
from .internals import build_serde_allowlist
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
        elif _is(each, StateGraph):
            found |= declared_types(each.compile(), ())
        elif _is(each, Pregel):
            found |= declared_types(each, ())
        else:
            found |= build_serde_allowlist(schemas=[each])
            found.add((each.__module__, each.__name__))
    return found


def _has_name(each: object) -> bool:
    pair = isinstance(each, tuple) and all(isinstance(text, str) for text in cast("Any", each))
    return pair or isinstance(each, type | StateGraph | Pregel)


def _is(made: object, kind: type[Any]) -> bool:
    """isinstance, without the unknown type arguments to which a checker would narrow."""
    return isinstance(made, kind)
