"""Changed: whether an object that LangGraph's serializer restores is what it was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.types import Send
from pydantic import BaseModel

from ....contracts.alike import alike
from ....contracts.builtin_types import class_of
from ....contracts.codec import try_pack
from .plain import ATOMS, NotPlain, items, plain
from .registered import is_registered, opaque

_MISSING: Any = object()
_BY_IDENTITY: Any = object.__eq__


def changed(value: Any, back: Any, path: str, *, whole: bool = False) -> str | None:
    """Where the value that came back differs, if it does.

    The arguments of a `Send` are the input of a node, and are not compared. Nor are LangChain's messages, wherever they
    are: LangGraph restores them, but makes dicts of models in their artifacts, such as a retriever's documents.

    What a model itself keeps out of its dump, private attributes and excluded fields, is not compared: often that is a
    cache, a lock or a connection. Nor are the kinds of built-in containers, which come back as their bases. With
    `whole`, all of that is in what our codec can keep whole: objects of registered classes.
    """
    if whole and is_registered(value) and not _kept(value, back) and try_pack(value) is not None:
        return path
    if class_of(back) is class_of(value) and (opaque(value) or _is_message(value)):
        return None  # the functions of its class may put what it holds in order, or add a time
    if whole and isinstance(value, Send):
        return changed(value.arg, back.arg, f"{path}.arg", whole=True)
    if isinstance(value, Send) or (_compares_all(value) and _equal(value, back)):
        return None
    fields = _fields(value)
    if fields is not None:
        return _changed_fields(fields, value, back, path, whole)
    kind = class_of(value)
    if issubclass(kind, Mapping):
        return _changed_items(value, back, path, whole)
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes | bytearray):
        if not issubclass(class_of(back), Sequence) or len(value) != len(back):
            return path
        pairs = zip(value, back, strict=True)
        found = (changed(item, other, f"{path}[{number}]", whole=whole) for number, (item, other) in enumerate(pairs))
        return next(filter(None, found), None)
    return None if _equal(value, back) or _untold(value, back) or _validated(value, back) else path


def _kept(value: Any, back: Any) -> bool:
    """Whether all that an object holds came back, apart from its defaults, which may have been validated."""
    if alike(value, back):
        return True
    if not isinstance(value, BaseModel) or class_of(back) is not class_of(value):
        return False
    names = class_of(value).model_fields
    defaults = {name: value.__dict__[name] for name in names if _is_unvalidated(value, name)}
    return bool(defaults) and alike(value, back.model_copy(update=defaults))


def _is_message(value: Any) -> bool:
    return isinstance(value, BaseMessage) and class_of(value).__module__.startswith("langchain_core.")


def _compares_all(value: Any) -> bool:
    """Whether `==` looks at all that there is. What users' classes make of it may look at an id alone."""
    kind: Any = class_of(value)
    if kind in ATOMS:
        return True
    if kind.__eq__ is not BaseModel.__eq__:
        return False
    return kind.__module__.startswith("langchain_core.") or all(type(part) in ATOMS for part in value.__dict__.values())


def _changed_fields(fields: dict[str, Any], value: Any, back: Any, path: str, whole: bool) -> str | None:
    if class_of(back) is not class_of(value):
        return path
    others = _fields(back) or {}
    for name, item in fields.items():
        if item is _MISSING or _is_unvalidated(value, name):
            continue
        if found := changed(item, others.get(name, _MISSING), f"{path}.{name}", whole=whole):
            return found
    return _changed_items(_extra(value), _extra(back), path, whole)


def _is_unvalidated(value: Any, name: str) -> bool:
    """Whether a field has a plain default, which pydantic leaves as it is written, but validates when it comes back."""
    if not isinstance(value, BaseModel) or name in value.model_fields_set:
        return False
    try:
        return _equal(plain(value.__dict__[name]), type(value).model_fields[name].default)
    except NotPlain:
        return False


def _changed_items(value: Any, back: Any, path: str, whole: bool) -> str | None:
    if not issubclass(class_of(back), Mapping) or len(value) != len(back):
        return path
    for (key, item), (other_key, other) in zip(items(value), items(back), strict=True):
        found = changed(key, other_key, path, whole=whole)
        if found := found or changed(item, other, f"{path}[{key!r}]", whole=whole):
            return found
    return None


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of an object, as far as it is made again from them. None if it is none that has fields."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {name: value.__dict__.get(name, _MISSING) for name, about in fields.items() if not about.exclude}
    kind: Any = class_of(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name, _MISSING) for field in dataclasses.fields(kind)}
    return value._asdict() if hasattr(kind, "_asdict") and hasattr(kind, "_fields") else None


def _extra(value: Any) -> dict[str, Any]:
    return (value.__pydantic_extra__ or {}) if isinstance(value, BaseModel) else {}


def _equal(value: Any, back: Any) -> bool:
    try:
        return (value == back) is True  # of arrays it is an array
    except Exception:
        return False


def _untold(value: Any, back: Any) -> bool:
    """Whether comparing does not tell: NaN, also in sets and others, arrays, and objects that equal only themselves."""
    kind: Any = class_of(value)
    if kind is not class_of(back):
        return False
    try:
        if issubclass(kind, Set):
            return sorted(map(repr, value)) == sorted(map(repr, back))
        return (value != value) is not False or kind.__eq__ is _BY_IDENTITY or repr(value) == repr(back)
    except Exception:
        return True


def _validated(value: Any, back: Any) -> bool:
    """Whether what a field was set to came back as what it makes of that. Pydantic does not do so at once."""
    return (isinstance(value, Enum) and _equal(value.value, back)) or (isinstance(value, str) and value == str(back))
