"""Alike: equal, and of the same types all the way down. `==` takes True for 1, and a StrEnum for its text."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from .builtin_types import class_of


def alike(one: Any, other: Any) -> bool:
    """Whether the two values can't be told apart."""
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
        return all(alike(getattr(one, name), getattr(other, name)) for name in _MODEL)
    if dataclasses.is_dataclass(kind):
        return all(alike(getattr(one, each.name), getattr(other, each.name)) for each in dataclasses.fields(kind))
    if issubclass(kind, Mapping):
        return len(one) == len(other) and all(map(alike, one.items(), other.items()))
    if issubclass(kind, Set):
        return bool(one == other) and Counter(map(type, one)) == Counter(map(type, other))
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes):
        return len(one) == len(other) and all(map(alike, one, other))
    if issubclass(kind, dt.datetime | dt.time):
        return _moment(one) == _moment(other)
    if issubclass(kind, float | Decimal):
        return repr(one) == repr(other)
    return bool(one == other)


_PLAIN = frozenset({str, int, bool, bytes, type(None)})
_MODEL = ("__dict__", "__pydantic_extra__", "__pydantic_private__")


def _moment(value: Any) -> tuple[Any, ...]:
    zone: object = value.tzinfo
    return value.isoformat(), value.fold, type(zone), str(zone)
