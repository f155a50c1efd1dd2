"""Hints: what a graph's state, and the classes in it, declare."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import is_dataclass
from inspect import get_annotations
from typing import Annotated, Any, NamedTuple, NotRequired, Required, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import ReadOnly, is_typeddict


class Unknown:
    """In place of an annotation that can't be evaluated, and of a type variable that nothing stands for."""


class _Types(NamedTuple):
    """What stands for type variables, and for those that nothing stands for."""

    known: dict[Any, Any]
    unknown: Any


def hints_of(hint: Any, unknown: Any = Unknown) -> dict[str, Any]:
    """A class's annotations. In place of type variables is what stands for them in its brackets, or in those of a base,
    else what is `unknown`."""
    kind, args = parts_of(hint)
    if not is_class(kind):
        return {}
    types = _Types(dict(zip(_parameters(kind), args, strict=False)), unknown)
    if issubclass(kind, BaseModel) and kind.__pydantic_complete__:  # pydantic knows local names, too
        return {name: _evaluated(field.annotation, kind, types) for name, field in kind.model_fields.items()}
    hints: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    for each, bound in _lineage(kind, types):
        for name, of in get_annotations(each).items():
            if not (is_typeddict(each) and seen.get(name) is of):  # these list their bases' annotations, too
                hints[name] = _evaluated(of, each, bound)
            seen[name] = of
    return hints


def _lineage(kind: type[Any], types: _Types) -> Iterator[tuple[type[Any], _Types]]:
    """A class behind its bases, each with what stands for its type variables."""
    bound = _bound(kind, types)
    erased = [each for each in bound if each not in kind.__mro__]  # a TypedDict's
    for each in [*erased, *reversed(kind.__mro__)]:
        yield each, bound.get(each, _Types({}, types.unknown))


def _bound(kind: type[Any], types: _Types) -> dict[type[Any], _Types]:
    """What stands for the type variables of all bases of a class, and of itself."""
    found = {kind: types}
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        of = get_origin(base) or base
        if is_class(of):
            args = [_evaluated(each, kind, types) for each in get_args(base)]
            known = dict(zip(_parameters(of), args, strict=False))
            found = _bound(of, _Types(known, types.unknown)) | found
    return found


def _parameters(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__parameters__", ())


def _evaluated(hint: Any, kind: type[Any], types: _Types) -> Any:
    """One annotation for itself, because others may be of modules that only checkers import."""
    one = type("one", (), {"__annotations__": {"hint": hint}})
    try:
        names = ChainMap({each.__name__: each for each in types.known}, vars(sys.modules[kind.__module__]))
        return _filled_in(get_type_hints(one, dict(vars(kind)), names, include_extras=True)["hint"], types)
    except RecursionError:
        raise  # it says nothing of the annotation
    except Exception:  # annotations may be anything
        return types.unknown


def _filled_in(hint: Any, types: _Types) -> Any:
    if type(hint) is TypeVar:
        return types.known.get(hint, types.unknown)
    left = () if is_class(hint) else _parameters(hint)
    return hint[tuple(types.known.get(each, types.unknown) for each in left)] if left else hint


def is_class(kind: object) -> bool:
    return isinstance(kind, type)


def is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def has_fields(kind: object) -> bool:
    return is_class(kind) and (is_typeddict(kind) or is_dataclass(kind) or is_model(kind))


def hashable(hint: Any) -> Any:
    """It, or a text that stands for it: annotations may hold anything."""
    try:
        hash(hint)
    except TypeError:
        return repr(hint)
    return hint


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
