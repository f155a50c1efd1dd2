"""Half-built: objects that LangGraph's serializer makes although their class has changed too much since. A model that
refuses what was stored comes back without the fields that it now requires, anything else as the values it was made of.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast, get_args

from pydantic import BaseModel

from ...dialects import dict_of


def lacking(value: Any, hint: Any = None) -> str:
    """A required field that a model in the value lacks, with its class; "" for none. Models in a model are looked at as
    its annotations say, because LangGraph leaves them as dicts if the outer one could not be made."""
    if isinstance(value, BaseModel):
        return _of_model(type(value), vars(value))
    models = [each for each in _parts(hint) if _is_model(each)]
    if isinstance(value, dict) and models:
        lacks = [_of_model(model, cast("dict[str, Any]", value)) for model in models]
        return lacks[0] if all(lacks) else ""
    return next((found for item in _items(value) for part in models or [None] if (found := lacking(item, part))), "")


def _of_model(model: type[BaseModel], held: Any) -> str:
    for name, field in model.model_fields.items():
        key = name if name in held else field.alias
        if key in held:
            if found := lacking(held[key], field.annotation):
                return found
        elif field.is_required():
            return f"{model.__module__}.{model.__qualname__} without its field {name!r}"
    return ""


def _items(value: Any) -> list[Any]:
    if held := dict_of(value):
        return [*held.values()]
    return [*cast("Collection[Any]", value)] if isinstance(value, list | tuple | set | frozenset) else []


def _parts(hint: Any) -> list[Any]:
    """A model itself, or what a list, dict, union ... of types is made of."""
    return [hint] if _is_model(hint) else [part for each in get_args(hint) for part in _parts(each)]


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
