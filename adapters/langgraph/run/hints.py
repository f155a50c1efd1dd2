"""Hints: what a graph's state, and the classes in it, declare."""

from __future__ import annotations

import sys
from collections import ChainMap
from inspect import get_annotations
from typing import Annotated, Any, NotRequired, Required, TypeVar, get_args, get_origin, get_type_hints

from typing_extensions import ReadOnly


class Unknown:
    """In place of an annotation that can't be evaluated, and of a type variable that nothing stands for."""


def hints_of(hint: Any) -> dict[str, Any]:
    """A class's annotations, with what is in its brackets in place of type variables."""
    kind, args = parts_of(hint)
    types = dict(zip(getattr(kind, "__parameters__", ()), args, strict=False))
    hints: dict[str, Any] = {}
    for each in reversed(kind.__mro__) if is_class(kind) else ():
        hints |= {name: _evaluated(of, each, types) for name, of in get_annotations(each).items()}
    return hints


def _evaluated(hint: Any, kind: type[Any], types: dict[Any, Any]) -> Any:
    """One annotation for itself, because others may be of modules that only checkers import."""
    one = type("one", (), {"__annotations__": {"hint": hint}})
    try:
        names = ChainMap({each.__name__: each for each in types}, vars(sys.modules[kind.__module__]))
        hint = get_type_hints(one, dict(vars(kind)), names, include_extras=True)["hint"]
        if type(hint) is TypeVar:
            return types.get(hint, Unknown)
        left = () if is_class(hint) else getattr(hint, "__parameters__", ())
        return hint[tuple(types.get(each, Unknown) for each in left)] if left else hint
    except RecursionError:
        raise  # it says nothing of the annotation
    except Exception:  # annotations may be anything
        return Unknown


def is_class(kind: object) -> bool:
    return isinstance(kind, type)


def parts_of(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The class, or what else it is, and what is in its brackets."""
    inner = bare(hint)
    return get_origin(inner) or (None if inner is Any else inner), get_args(inner)  # Any is a class


def bare(hint: Any) -> Any:
    """What is declared, without what LangGraph or pydantic is told of it."""
    if get_origin(hint) in (Annotated, Required, NotRequired, ReadOnly):
        return bare(get_args(hint)[0])
    named = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)  # if it is a new name
    return bare(named) if named else hint
