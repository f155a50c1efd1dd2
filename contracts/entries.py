"""Entries: the parts of a value, for comparing values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

from pydantic import BaseModel

from .builtin_types import class_of
from .codec import pack
from .errors import Corrupted, Unserializable
from .opaque import Opaque
from .shapes import seen_fields, shape_of

Entries: TypeAlias = dict[object, tuple[str, Any]]
"""A part of a value: how its place is written, and the part."""


def mark(value: Any) -> object:
    """A hashable key that is equal only for values that are alike."""
    try:
        return pack(value)
    except Unserializable:  # a state that was never stored may hold anything
        return repr(value)


def items(value: Mapping[Any, Any]) -> Entries:
    """The values of a dict."""
    return {mark(key): (f"[{key!r}]", item) for key, item in value.items()}


def fields(value: Any) -> Entries | None:
    """The fields of a model or a dataclass, and what else is stored of it."""
    kind = class_of(value)
    if issubclass(kind, Opaque):
        return _stored(value)
    if issubclass(kind, Enum) or not (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)):
        return None
    shape = shape_of(kind)
    return {at: (at, item) for at, item in shape.parts(value)} if shape else None


def _stored(value: Opaque) -> Entries:
    """What can be shown of a value that stands for another."""
    try:
        held = value.value
    except Corrupted:
        return {"type": (".type_name", value.type_name), "held": (".packed", value.packed)}
    if seen := seen_fields(held):  # written as by a process that has the class
        inside: Entries = {f".{name}": (f".{name}", item) for each in seen for name, item in each.items()}
    else:
        inside = {"held": (".value", held)}
    return {"type": (".type_name", value.type_name), **inside}
