"""Stand-ins for a model's dump where pydantic makes none, as of a set of models. They tell which lists of its JSON it
holds as lists, so that their order counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, cast

from pydantic import BaseModel

from ...contracts.builtin_types import class_of

UNKNOWN: Final = frozenset({0, 1})
"""In place of what can't be dumped: any list in it may be a set."""


def stand_in(held: Any, written: Any, *, kept: bool) -> Any:
    """What may stand in for a dump: the lists that are held where JSON has lists, and `UNKNOWN` for what
    serializers make, or have made of sets and `kept`."""
    if not isinstance(written, dict | list):
        return None
    kind: Any = class_of(held)
    if isinstance(held, list | tuple | deque) and isinstance(written, list):
        row, items = cast("Sequence[object]", held), cast("list[object]", written)
        if len(row) != len(items):
            return UNKNOWN
        return [stand_in(part, item, kept=kept) for part, item in zip(row, items, strict=True)]
    if not isinstance(written, dict) or (own := _written_by(kind)) is None:
        return UNKNOWN
    entries, parts = cast("dict[str, object]", written), _parts(held, kept=kept)
    if isinstance(held, dict) and len(parts) == len(entries):  # JSON has other names if the keys are no texts
        parts = dict(zip(entries, parts.values(), strict=True))
    known = parts.keys() - own
    return {
        name: stand_in(parts[name], item, kept=kept) if name in known else UNKNOWN for name, item in entries.items()
    }


def _parts(held: Any, *, kept: bool) -> Mapping[Any, Any]:
    """What is in a value, by its names in JSON."""
    if not isinstance(held, BaseModel):
        return entries_of(held)
    kind = type(held)
    parts = held_by(held)
    for name in () if kept else kind.model_computed_fields:
        with suppress(Exception):  # it may be made only of what a model had when it was written
            parts[name] = getattr(held, name)
    if not kind.model_config.get("serialize_by_alias"):
        return parts
    infos: Mapping[str, Any] = {**kind.model_fields, **kind.model_computed_fields}
    aliases = {name: getattr(info, "serialization_alias", None) or info.alias for name, info in infos.items()}
    return {aliases.get(name) or name: part for name, part in parts.items()}


@lru_cache(maxsize=256)
def _written_by(kind: Hashable) -> frozenset[str] | None:
    """The names in JSON of a class's fields that have serializers. None if the class has one of its own."""
    schema: Any = getattr(kind, "__pydantic_core_schema__", {})
    while schema.get("type") != "model-fields" and isinstance(schema.get("schema"), dict):
        if _is_function(schema):
            return None
        schema = schema["schema"]
    fields: Mapping[str, Any] = schema.get("fields", {}) if schema.get("type") == "model-fields" else {}
    if not fields and _has_function(schema):
        return None
    computed = {each["property_name"]: each for each in schema.get("computed_fields", ())}
    each_one = {**fields, **computed}.items()
    return frozenset(
        name
        for key, each in each_one
        if _has_function(each)
        for name in (key, each.get("serialization_alias") or each.get("alias") or key)
    )


def _is_function(schema: Mapping[str, Any]) -> bool:
    serialization: Any = schema.get("serialization") or {}
    return str(serialization.get("type", "")).startswith("function-")


def _has_function(schema: Any) -> bool:
    """Whether a serializer writes any of a field. What is in other models is looked at there."""
    left: list[Any] = [schema]
    for each in left:  # to which others are added meanwhile
        if isinstance(each, dict):
            shape = cast("dict[str, Any]", each)
            if _is_function(shape):
                return True
            left += [] if shape.get("type") in ("model", "dataclass") else shape.values()
        elif isinstance(each, list | tuple):
            left += cast("Sequence[Any]", each)
    return False


def held_by(value: BaseModel) -> dict[str, Any]:
    """A model's fields and extra values."""
    declared = {name: item for name, item in value.__dict__.items() if name in type(value).model_fields}
    return {**declared, **(value.__pydantic_extra__ or {})}


def entries_of(held: Any) -> Mapping[Any, Any]:
    """What is in a dict, a model or a dataclass, by name."""
    if isinstance(held, BaseModel):
        return held_by(held)
    if isinstance(held, dict):
        return cast("dict[object, object]", held)
    if is_dataclass(cast("object", held)) and not isinstance(held, type):
        return {field.name: getattr(held, field.name) for field in fields(held) if hasattr(held, field.name)}
    return {}
