"""Declared: values of a thread as a graph's state declares them. They come as plain values: an object as its fields."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache, partial
from itertools import zip_longest
from types import UnionType
from typing import Any, Literal, NotRequired, Union, get_origin
from uuid import UUID

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import TypeAdapter
from typing_extensions import is_typeddict

from ....contracts.builtin_types import class_of
from ..serde.hints import Unknown, bare, hashable, hints_of, is_class, parts_of
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
_NOT_AT_ALL = (4,)


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
            return _Making().made(value, hint)
    except Exception as error:  # annotations may be anything, and validators are the user's code
        raise Another from error
    raise Another


def _fits(value: Any, hint: Any) -> bool:
    """Whether the value is of the declared kind. Of an object's fields, only making it tells."""
    kind, args = parts_of(hint)
    if kind in _UNIONS:
        return any(_fits(value, each) for each in args)
    if kind is Literal:
        return value in args
    if value is None or not is_class(kind):
        return True
    if is_typeddict(kind):
        return isinstance(value, dict)
    if kind in ATOMS:
        return isinstance(_atom(value, kind), (int, float) if kind is float else kind)
    if kind.__module__ not in _CONTAINERS or isinstance(value, kind):
        return True
    # As a checkpoint keeps them.
    return kind in _GROUPS if isinstance(value, list) else isinstance(value, dict) and issubclass(kind, dict)


class _Making:
    """One value. What has become of a part, as one of several kinds, is remembered: each level of a tree would else try
    all that it can be for each that the level around it tries."""

    def __init__(self) -> None:
        # By the id of a part, which is there as long as the value is, and by what it is declared as.
        self._chosen: dict[tuple[int, Any], tuple[Any, Exception | None]] = {}
        self._misfits: dict[tuple[int, Any], tuple[int, ...]] = {}

    def made(self, value: Any, hint: Any) -> Any:
        """The value, or a part of it, as declared."""
        kind, args = parts_of(hint)
        if kind in _UNIONS:
            return self._one_of(value, args)
        if kind is Unknown and isinstance(value, dict | list | tuple):
            raise Another  # it may be an object, or hold some
        if value is None or kind is Unknown or not is_class(kind):
            return value
        if is_typeddict(kind) or dataclasses.is_dataclass(kind):
            return self._with_fields(value, hint)
        if kind in ATOMS:
            return _atom(value, kind)
        if kind.__module__ in _CONTAINERS:
            return self._filled(value, kind, args)
        return value if isinstance(value, kind) else _object(value, bare(hint))

    def _one_of(self, value: Any, hints: tuple[Any, ...]) -> Any:
        """What it fits best, of what it can be."""
        if not _has_parts(value):
            return self._first_of(value, hints)
        key = id(value), hashable(hints)
        if key not in self._chosen:
            self._chosen[key] = self._tried(value, hints)
        made, failed = self._chosen[key]
        if failed:
            raise failed
        return made

    def _tried(self, value: Any, hints: tuple[Any, ...]) -> tuple[Any, Exception | None]:
        """That, or why it can't be any."""
        try:
            return self._first_of(value, hints), None
        except RecursionError:
            raise  # each level would try all others
        except Exception as error:  # as in `as_declared`
            return None, error

    def _first_of(self, value: Any, hints: tuple[Any, ...]) -> Any:
        """The first that can be made. If it fails as an object, it isn't of another's keys."""
        failed: Exception | None = None
        for hint in sorted(hints, key=partial(self._misfit, value)):
            try:
                if _fits(value, hint) and not (failed and self._misfit(value, hint) == _NOT_AT_ALL):
                    return self.made(value, hint)
            except RecursionError:
                raise
            except Exception as error:
                failed = error
        if failed:
            raise failed
        return value

    def _misfit(self, value: Any, hint: Any) -> tuple[int, ...]:
        """How little it fits, and then what in it fits worst. 0: as an object, or as what it is already. 1: as a
        TypedDict. 2: as a plain dict, or converted. 3: as a TypedDict that lacks keys or has wrong values. 4: as a
        TypedDict that knows not all of its keys, or not at all.
        """
        if not _has_parts(value):
            return self._compared(value, hint)
        key = id(value), hashable(hint)
        if key not in self._misfits:
            self._misfits[key] = self._compared(value, hint)
        return self._misfits[key]

    def _compared(self, value: Any, hint: Any) -> tuple[int, ...]:
        kind, args = parts_of(hint)
        if kind in _UNIONS:
            return min(self._misfit(value, each) for each in args)
        if not _fits(value, hint):
            return _NOT_AT_ALL
        is_dict = class_of(value) is dict
        if is_dict and is_typeddict(kind):
            return _misfit_of_keys(value, kind, hints_of(hint))
        if is_dict and value and is_class(kind) and kind.__module__ not in _CONTAINERS:
            return (0,)  # {} tells of no object
        inner = [self._misfit(item, each) for item, each in _items(value, kind, args) or ()]
        return (0 if class_of(value) is kind and not is_dict else 2, *max(inner, default=()))

    def _with_fields(self, value: Any, hint: Any) -> Any:
        """A TypedDict, or a dataclass's object, of a dict. As LangGraph does it, without a check of the fields."""
        kind, _ = parts_of(hint)
        if class_of(value) is not dict:
            if not is_typeddict(kind) and not isinstance(value, kind):
                raise Another
            return value
        hints = hints_of(hint)
        made = {name: self.made(item, hints.get(name)) for name, item in value.items()}
        if is_typeddict(kind):
            return made
        later = {field.name for field in dataclasses.fields(kind) if not field.init}
        return kind(**{name: item for name, item in made.items() if name not in later})

    def _filled(self, value: Any, kind: Any, args: tuple[Any, ...]) -> Any:
        """A dict or a list whose items are as declared."""
        items = _items(value, kind, args)
        if items is None:
            return value
        made = [self.made(item, each) for item, each in items]
        if class_of(value) is dict:
            return dict(zip((self.made(name, args[0] if args else None) for name in value), made, strict=True))
        group: Any = kind if kind in _GROUPS else class_of(value)
        return group(made)


def _has_parts(value: Any) -> bool:
    return isinstance(value, dict | list)


def _misfit_of_keys(value: dict[str, Any], kind: Any, hints: dict[str, Any]) -> tuple[int, ...]:
    if value.keys() - hints.keys():
        return _NOT_AT_ALL
    # If annotations are strings, Python doesn't see which are `NotRequired`.
    lacks = any(get_origin(hints[name]) is not NotRequired for name in kind.__required_keys__ - value.keys())
    return (3,) if lacks or not all(_fits(item, hints[name]) for name, item in value.items()) else (1,)


def _items(value: Any, kind: Any, args: tuple[Any, ...]) -> Iterable[tuple[Any, Any]] | None:
    """What is in a dict or a list, and as what it is declared. None if the value is of another kind."""
    is_mapping = is_class(kind) and issubclass(kind, Mapping)
    if is_mapping and class_of(value) is dict:
        return [(item, args[1] if len(args) == 2 else None) for item in value.values()]
    if is_mapping or class_of(value) not in (list, tuple, set, frozenset):
        return None
    items = list(value)
    of = args if kind is tuple and ... not in args else args[:1] * len(items)
    return zip_longest(items, of[: len(items)])


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
