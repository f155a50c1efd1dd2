"""Plain values as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic_core import SchemaSerializer, core_schema, to_json

from .errors import Corrupted
from .opaque import Opaque
from .shapes import Custom, seen_fields
from .state_types import known_type

_DEEPEST = 250  # pydantic can write only a few levels more
_DEEPER = "(nested too deeply for JSON)"
_OTHERWISE = (bytes, bytearray, memoryview, Opaque)  # what we write in another way than pydantic
_ANYTHING = SchemaSerializer(core_schema.any_schema())


def as_json(
    value: Any, *, indent: int | None = None, no_number: Literal["constants", "strings"] = "constants"
) -> bytes:
    """Plain values as JSON. What JSON lacks becomes text, and so does what is nested too deeply. NaN and the infinities
    are either constants, which Python reads, or texts, which everybody reads."""
    return to_json(_plain(value), indent=indent, inf_nan_mode=no_number, bytes_mode="base64", fallback=str)


def jsonable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as JSON's own, for any library to write: times and NaN become text, and so do whole numbers that
    Python refuses to write."""
    found: dict[str, Any] = json.loads(as_json(values, no_number="strings"), parse_int=_whole)
    return found


def _whole(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:  # more than 4300
        return digits


def _seen(value: Opaque) -> dict[str, Any]:
    """A value that stands for an object: the object's type, and what it holds, by name if these are fields."""
    try:
        held = value.value
    except Corrupted:
        return {"type": value.type_name, "packed": value.packed}
    return _shown(value.type_name, held)


def _shown(name: str, held: Any) -> dict[str, Any]:
    named = seen_fields(held)
    return {"type": name, "value": named[0] if named else held}


def _dumped(value: object) -> dict[str, Any] | None:
    """A value of a class that has functions of its own, as a process shows it that does not know the class. None for
    anything else: pydantic could only write the value's `str`, which rarely says what it holds."""
    known = known_type(type(value))
    if known is None or not isinstance(known.shape, Custom):
        return None
    try:
        return _shown(known.name, known.shape.dump(value))
    except Exception as error:  # the function is the user's
        return {"type": known.name, "value": f"({type(error).__name__}: {error})"}


def _plain(value: Any, room: int = _DEEPEST) -> Any:
    if isinstance(value, Opaque):
        value = _seen(value)
    elif isinstance(value, BaseModel) or is_dataclass(value):
        return _object(value, room)
    elif (dumped := _dumped(value)) is not None:
        value = dumped
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
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


def _object(value: Any, room: int) -> Any:
    """A model or a dataclass as pydantic writes it, or by its parts if that fails, or shows them otherwise than they
    are shown elsewhere."""
    try:
        parts = _ANYTHING.to_python(value, warnings=False)
    except Exception as error:  # the class's own serializers may raise anything
        return f"({type(value).__qualname__}: {error})"
    own = _own_fields(value)  # pydantic has made dicts of the objects that stand for others
    if _is_usual(parts, room) and (own is None or _is_usual(own, room)):
        with suppress(Exception):
            to_json(value, fallback=str)
            return value
    return _plain(parts if own is None else own, room)


def _own_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass that pydantic knows nothing about. None for anything else."""
    if isinstance(value, Opaque) or not is_dataclass(value) or hasattr(value, "__pydantic_serializer__"):
        return None
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _is_usual(part: Any, room: int) -> bool:
    """Whether a class's own serializer and ours write this part the same: in a model, bytes would be text, NaN would be
    null, and entries whose keys are written alike would be lost."""
    part = part if (own := _own_fields(part)) is None else own
    if isinstance(part, dict):
        held = cast("dict[object, object]", part)
        kinds = set(map(type, held))
        return room > 0 and len(kinds) < 2 and bytes not in kinds and all(_is_usual(v, room - 1) for v in held.values())
    if isinstance(part, list | tuple | set | frozenset):
        return room > 0 and all(_is_usual(item, room - 1) for item in cast("Iterable[object]", part))
    if isinstance(part, float):
        return math.isfinite(part)
    return not isinstance(part, _OTHERWISE) and _dumped(part) is None
