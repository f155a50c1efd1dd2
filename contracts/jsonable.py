"""Plain values as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic_core import to_json

from .errors import Corrupted
from .opaque import Opaque
from .shapes import seen_fields

_DEEPEST = 250  # pydantic can write only a few levels more
_DEEPER = "(nested too deeply for JSON)"


def as_json(
    value: Any, *, indent: int | None = None, no_number: Literal["constants", "strings"] = "constants"
) -> bytes:
    """Plain values as JSON. What JSON lacks becomes text, and so does what is nested too deeply. NaN and the infinities
    are either constants, which Python reads, or texts, which everybody reads."""
    return to_json(_plain(value), indent=indent, inf_nan_mode=no_number, bytes_mode="base64", fallback=str)


def jsonable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as JSON's own, for any library to write: times and NaN become text."""
    found: dict[str, Any] = json.loads(as_json(values, no_number="strings"))
    return found


def _seen(value: Opaque) -> dict[str, Any]:
    """A value that stands for an object: the object's type, and what it holds, by name if these are fields."""
    try:
        held = value.value
    except Corrupted:
        return {"type": value.type_name, "packed": value.packed}
    fields = seen_fields(held)
    return {"type": value.type_name, "value": fields[0] if fields else held}


def _plain(value: Any, room: int = _DEEPEST) -> Any:
    if isinstance(value, Opaque):
        value = _seen(value)
    elif dataclasses.is_dataclass(value) and not hasattr(value, "__pydantic_serializer__"):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, BaseModel) or not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if not room:
        return _DEEPER
    if isinstance(value, Mapping):
        return {name: _plain(item, room - 1) for name, item in _named(cast("Mapping[object, object]", value))}
    return [_plain(item, room - 1) for item in cast("Iterable[object]", value)]


def _named(entries: Mapping[object, object]) -> Iterable[tuple[str, object]]:
    """A dict's entries with texts as keys. One whose text is another's key says its type too, so that none is lost."""
    taken = {key for key in entries if isinstance(key, str)}
    for key, item in entries.items():
        name = key if isinstance(key, str) else str(key)
        if name is not key:
            while name in taken:
                name = f"{name} ({type(key).__name__})"
            taken.add(name)
        yield name, item
