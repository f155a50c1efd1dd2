"""Allowing: the types that a saver may restore, of what its user names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from .graph import declared_types
from .internals import build_serde_allowlist
from .values import TypeName


def types_of(named: Collection[Any]) -> set[TypeName]:
    """(module, name) of classes and all that they declare: state schemas, models, or graphs with their subgraphs. A
    pair of names is taken as it is."""
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


def _is(made: object, kind: type[Any]) -> bool:
    """isinstance, without the unknown type arguments to which a checker would narrow."""
    return isinstance(made, kind)
