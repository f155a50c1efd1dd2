"""Classes in states, by name: which type a workflow waits for. Names are only looked up, never imported."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from ...contracts.builtin_types import NotPlain
from ...contracts.errors import BadSetup
from ...contracts.state_types import type_named, type_of

_BUILTIN: dict[str, Any] = {
    kind.__name__: kind for kind in (str, int, float, bool, bytes, list, dict, tuple, set, frozenset, NoneType, object)
} | {"Any": Any}
_NAMES = {kind: name for name, kind in _BUILTIN.items()}


def name_of(kind: Any) -> str | list[Any]:
    """A class's name. For a generic, a list of its name and its arguments' names. `NotPlain` if it is not known."""
    if kind in _NAMES:
        return _NAMES[kind]
    origin = get_origin(kind)
    if origin is not None:
        head = "Union" if origin in (Union, UnionType) else name_of(origin)
        return [head, *map(name_of, get_args(kind))]
    if not isinstance(kind, type):
        raise NotPlain(f"{kind!r} is not a class that can be kept by name")
    return type_of(kind).name


def class_named(name: str | list[Any]) -> Any:
    """The class that `name_of` named. `BadSetup` if this process does not know it."""
    if isinstance(name, list):
        head, *arguments = name
        inner = tuple(map(class_named, arguments))
        return Union[inner] if head == "Union" else class_named(head)[inner]  # noqa: UP007
    if name in _BUILTIN:
        return _BUILTIN[name]
    known = type_named(name)
    if known is None:
        raise BadSetup(f"this process has no class named {name!r}: import the module that registers it")
    return known.kind
