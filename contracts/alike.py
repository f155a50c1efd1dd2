"""Alike: equal, and of the same types all the way down. `==` takes True for 1, and a StrEnum for its text."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from .builtin_types import NotPlain, class_of

if TYPE_CHECKING:
    from .state_types import StateType


def alike(one: Any, other: Any) -> bool:
    """Whether the two values can't be told apart."""
    if one is other:
        return True
    kind = class_of(one)
    if kind is not type(other):
        return False
    if kind in _PLAIN:  # first, because these are most of what is compared
        return bool(one == other)
    if kind is dict:
        return len(one) == len(other) and all(map(alike, one, other)) and all(map(alike, one.values(), other.values()))
    if kind is list:
        return len(one) == len(other) and all(map(alike, one, other))
    if kind is float:
        return repr(one) == repr(other)
    if issubclass(kind, BaseModel):
        return alike(_model(one), _model(other))
    if dataclasses.is_dataclass(kind):
        return alike(own(one), own(other))
    if issubclass(kind, Mapping):
        return len(one) == len(other) and all(map(alike, one.items(), other.items()))
    if issubclass(kind, Set):
        return len(one) == len(other) and _alike_sets(one, other)
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes):
        return len(one) == len(other) and all(map(alike, one, other))
    if issubclass(kind, dt.datetime | dt.time):
        return _moment(one) == _moment(other)
    if issubclass(kind, float | Decimal):
        return repr(one) == repr(other)
    if known := _custom(kind):
        return _alike_dumped(known, one, other)
    return _equal(one, other)


_PLAIN = frozenset({str, int, bool, bytes, type(None)})
_EQUAL_KINDS = frozenset({int, bool})  # whose values may equal each other


def _custom(kind: type[Any]) -> StateType | None:
    """The state type of a class that has functions of its own."""
    from .state_types import known_type  # which needs this module

    known = known_type(kind)
    return known if known and known.is_custom else None


def _alike_dumped(known: StateType, one: Any, other: Any) -> bool:
    """Whether the class says so, or the same is stored of both. Neither tells alone: `==` may give no bool, as with
    arrays, or know only the object itself, and what is dumped may be encrypted, and another each time."""
    with suppress(Exception):  # the class is the user's
        if (one == other) is True:
            return True
    try:
        before, after = (form() for value in (one, other) for form in known.shape.forms(value))
    except NotPlain:  # they can't be stored, so nothing else tells
        return _equal(one, other)
    return alike(before, after)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # the class is the user's
        return one is other


def _model(value: BaseModel) -> list[Any]:
    """What is stored of a model. Beside its fields, `__dict__` has cached values."""
    names, held = class_of(value).model_fields, value.__dict__
    fields = held if len(held) == len(names) else {name: item for name, item in held.items() if name in names}
    return [fields, value.__pydantic_extra__, value.__pydantic_private__]


def own(value: Any) -> dict[str, Any]:
    """What a dataclass instance holds: its fields, and whatever else was set, without cached values."""
    kind = class_of(value)
    found = {each.name: getattr(value, each.name) for each in dataclasses.fields(kind)}
    for name, item in getattr(value, "__dict__", {}).items():
        if not name.startswith("__") and not isinstance(getattr(kind, name, None), cached_property):
            found.setdefault(name, item)
    return found


def _alike_sets(one: Set[Any], other: Set[Any]) -> bool:
    kinds = set(map(type, one))
    if kinds <= _PLAIN and not kinds >= _EQUAL_KINDS:
        return bool(one == other) and kinds == set(map(type, other))
    held = {item: item for item in other}
    lone: list[Any] = []
    for item in one:
        if item not in held:
            lone.append(item)  # nothing is like it, or there is a nan in it, which equals no other
        elif not alike(item, held.pop(item)):
            return False
    left = list(held)
    for item in lone:
        found = next((at for at, each in enumerate(left) if alike(item, each)), None)
        if found is None:
            return False
        del left[found]
    return True


def _moment(value: Any) -> tuple[Any, ...]:
    zone: object = value.tzinfo
    return value.isoformat(), value.fold, type(zone), str(zone)
