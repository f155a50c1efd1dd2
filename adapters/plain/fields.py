"""Fields: the part of an object that is its state, and how it is put back.

These are all public attributes, wherever the object keeps them (its dict, slots, a pydantic model's extra values), or
what `_checkpoint_fields` names. They are read and put back as they are: no validator of the class and no `__setattr__`
runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

from pydantic import BaseModel

from ...contracts.builtin_types import class_of
from ...contracts.errors import BadSetup
from .classes import setting


def whole_fields(obj: Any) -> dict[str, Any]:
    """The fields of the object. `BadSetup` if it lacks one that `_checkpoint_fields` names."""
    fields = read_fields(obj)
    cls = class_of(obj)
    for name in named_fields(cls) or ():
        if name not in fields:
            raise BadSetup(f"this {cls.__qualname__} has no {name!r}, which its _checkpoint_fields name: set it first")
    return fields


def read_fields(obj: Any) -> dict[str, Any]:
    """The fields that the object has now."""
    cls = class_of(obj)
    named = named_fields(cls)
    if named is None:
        return {name: value for name, value in _attributes(obj) if _public(cls, name)}
    return {name: getattr(obj, name) for name in named if hasattr(obj, name)}


def left_out(obj: Any) -> dict[str, Any]:
    """The attributes that are not fields: clients, locks, caches."""
    cls, fields = class_of(obj), read_fields(obj)
    return {name: value for name, value in _attributes(obj) if name not in fields and not _cached(cls, name)}


def write_fields(obj: Any, fields: Mapping[str, Any], drop: Iterable[str] = ()) -> None:
    """Set fields, and delete others."""
    held = _held_apart(obj)
    for name, value in fields.items():
        place = held(name)
        if place is None:
            object.__setattr__(obj, name, value)
        else:
            place[name] = value
    for name in drop:
        place = held(name)
        if place is None:
            object.__delattr__(obj, name)
        else:
            del place[name]
    if isinstance(obj, BaseModel):
        obj.__pydantic_fields_set__.update(name for name in fields if name not in obj.__private_attributes__)


def blank(cls: type[Any]) -> Any:
    """An object whose fields are still to be put in. `__init__` does not run."""
    if issubclass(cls, BaseModel):
        return cls.model_construct()
    made: Any = cast("Any", cls).__new__(cls)
    for name in _declared(cls):
        found, value = default(cls, name)
        if found:
            object.__setattr__(made, name, value)
    return made


def default(cls: type[Any], name: str) -> tuple[bool, Any]:
    """Whether a dataclass or a model declares a default for a field, and the default."""
    if issubclass(cls, BaseModel) and name in cls.model_fields:
        info = cls.model_fields[name]
        return not info.is_required(), None if info.is_required() else info.get_default(call_default_factory=True)
    field = _declared(cls).get(name)
    if field is None:
        return False, None
    if field.default_factory is not dataclasses.MISSING:
        return True, field.default_factory()
    return field.default is not dataclasses.MISSING, field.default


def required(cls: type[Any]) -> set[str]:
    """The fields without which no object of the class is whole."""
    named = named_fields(cls)
    if named is not None:
        return set(named)
    declared = cls.model_fields if issubclass(cls, BaseModel) else _declared(cls)
    return {name for name in declared if _public(cls, name)}


def can_hold(cls: type[Any], obj: Any, name: str) -> bool:
    """Whether a field of that name has a place in the object."""
    named = named_fields(cls)
    if named is not None:
        return name in named
    if issubclass(cls, BaseModel):
        return name in cls.model_fields or cls.model_config.get("extra") == "allow"
    return hasattr(obj, "__dict__") or name in set(_slots(cls))


def named_fields(cls: type[Any]) -> tuple[str, ...] | None:
    """What `_checkpoint_fields` names."""
    named: Any = setting(cls, "_checkpoint_fields")
    if named is None:
        return None
    if isinstance(named, str) or not all(isinstance(name, str) for name in named):
        raise BadSetup(f"{cls.__qualname__}._checkpoint_fields is {named!r}, not a tuple of attributes' names")
    return tuple(named)


def _held_apart(obj: Any) -> Callable[[str], dict[str, Any] | None]:
    """A function from a name to the dict in which a pydantic model holds it, or None if it is an attribute."""
    if not isinstance(obj, BaseModel):
        return lambda _: None
    model, private = type(obj).model_fields, obj.__private_attributes__
    return lambda name: (
        obj.__pydantic_private__ if name in private else None if name in model else obj.__pydantic_extra__
    )


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    for name in _slots(class_of(obj)):
        try:
            yield name, object.__getattribute__(obj, name)
        except AttributeError:  # a slot that is not set
            continue
    for held in ("__dict__", "__pydantic_extra__", "__pydantic_private__"):
        # A copy: another thread may add an attribute meanwhile.
        yield from dict(getattr(obj, held, None) or {}).items()


def _slots(cls: type[Any]) -> Iterator[str]:
    for base in reversed(cls.__mro__):
        slots: Any = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__"):
                yield name


def _public(cls: type[Any], name: str) -> bool:
    return not name.startswith("_") and not _cached(cls, name)


def _cached(cls: type[Any], name: str) -> bool:
    return isinstance(getattr(cls, name, None), cached_property)


def _declared(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
