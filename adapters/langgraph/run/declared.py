"""Declared: values of a thread as a graph's state declares them. They come as plain values: an object as its fields."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import zip_longest
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import TypeAdapter
from typing_extensions import ReadOnly, is_typeddict

from ....contracts.builtin_types import class_of
from ..serde.plain import ATOMS
from ..serde.wrapped import Wrapped, contents

_UNIONS = (Union, UnionType)
_GROUPS: frozenset[Any] = frozenset({tuple, set, frozenset, deque})
# What atoms in an object are told as, if not as themselves.
_TOLD: dict[Any, Callable[[Any], Any]] = {
    dt.datetime: dt.datetime.fromisoformat,
    dt.time: lambda fields: dt.time(**fields),
    Decimal: Decimal,
    UUID: UUID,
}
_CONTAINERS = frozenset({"builtins", "collections", "collections.abc"})


class Another(Exception):
    """What is declared can't be made of the value."""


def as_declared(value: Any, hint: Any) -> Any:
    """The value with the objects that an annotation declares. `Another` if they can't be made, or if the value is of
    another kind.

    A graph checks nothing. So what is declared of plain values inside of others decides nothing, nor does what can't be
    understood.
    """
    try:
        if _fits(value, hint):
            return _made(value, hint)
    except Exception as error:  # annotations may be anything, and validators are the user's code
        raise Another from error
    raise Another


def hints_of(kind: Any) -> dict[str, Any]:
    """A class's annotations; {} if they can't be evaluated, because LangGraph does without these, too."""
    try:
        return get_type_hints(kind, include_extras=True)
    except Exception:  # annotations may be anything
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Whether the value is of the declared kind. Of an object's fields, only making it tells."""
    kind, args = _parts(hint)
    if kind in _UNIONS:
        return any(_fits(value, each) for each in args)
    if kind is Literal:
        return value in args
    if value is None or not _is_class(kind):
        return True
    if is_typeddict(kind):
        return isinstance(value, dict)
    if kind in ATOMS:
        return isinstance(_atom(value, kind), (int, float) if kind is float else kind)
    if kind.__module__ not in _CONTAINERS or isinstance(value, kind):
        return True
    # As a checkpoint keeps them.
    return kind in _GROUPS if isinstance(value, list) else isinstance(value, dict) and issubclass(kind, dict)


def _made(value: Any, hint: Any) -> Any:
    kind, args = _parts(hint)
    if kind in _UNIONS:
        return _one_of(value, args)
    if value is None or not _is_class(kind):
        return value
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _with_fields(value, kind)
    if kind in ATOMS:
        return _atom(value, kind)
    if kind.__module__ in _CONTAINERS:
        return _filled(value, kind, args)
    return value if isinstance(value, kind) else _object(value, _bare(hint))


def _is_class(kind: object) -> bool:
    return isinstance(kind, type)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The class, or what else it is, and what is in its brackets."""
    bare = _bare(hint)
    return get_origin(bare) or (None if bare is Any else bare), get_args(bare)  # Any is a class


def _bare(hint: Any) -> Any:
    """What is declared, without what LangGraph or pydantic is told of it."""
    if get_origin(hint) in (Annotated, Required, NotRequired, ReadOnly):
        return _bare(get_args(hint)[0])
    named = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)  # if it is a new name
    return _bare(named) if named else hint


def _one_of(value: Any, hints: tuple[Any, ...]) -> Any:
    """The first that it can be. What it is already comes before all."""
    failed: Exception | None = None
    for hint in () if type(value) in hints else hints:
        try:
            if _fits(value, hint):
                return _made(value, hint)
        except Exception as error:  # as in `as_declared`
            failed = error
    if failed:
        raise failed
    return value


def _with_fields(value: Any, kind: Any) -> Any:
    """A TypedDict, or a dataclass's object, of a dict. As LangGraph does it, without a check of the fields."""
    if class_of(value) is not dict:
        if not is_typeddict(kind) and not isinstance(value, kind):
            raise Another
        return value
    hints = hints_of(kind)
    made = {name: _made(item, hints.get(name)) for name, item in value.items()}
    if is_typeddict(kind):
        return made
    later = {field.name for field in dataclasses.fields(kind) if not field.init}
    return kind(**{name: item for name, item in made.items() if name not in later})


def _filled(value: Any, kind: Any, args: tuple[Any, ...]) -> Any:
    """A dict or a list whose items are as declared."""
    group: Any = kind if kind in _GROUPS else class_of(value)
    is_mapping = issubclass(kind, Mapping)
    if is_mapping and class_of(value) is dict and len(args) == 2:
        return {_made(name, args[0]): _made(item, args[1]) for name, item in value.items()}
    if is_mapping or class_of(value) not in (list, tuple, set, frozenset):
        return value
    items = list(value)
    of = args if kind is tuple and ... not in args else args[:1] * len(items)
    made = [_made(item, each) for item, each in zip_longest(items, of[: len(items)])]
    return group(made)


def _atom(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind) and kind in _TOLD:
        with suppress(Exception):  # it is something else
            return _TOLD[kind](value)
    return value


def _object(value: Any, hint: Any) -> Any:
    """An object of its fields, if it takes them all."""
    made = _adapter(AnyMessage if hint is BaseMessage else hint).validate_python(value, by_alias=True, by_name=True)
    if isinstance(value, dict | list):
        kind, data = JsonPlusSerializer().dumps_typed(made)
        if not _has_all(value, contents(Wrapped(kind, data))):
            raise Another
    return made


@lru_cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def _has_all(value: Any, told: Any) -> bool:
    kinds = (class_of(value), class_of(told))
    if kinds == (dict, dict):
        return all(name in told and _has_all(item, told[name]) for name, item in value.items())
    return kinds != (list, list) or all(map(_has_all, value, told))
