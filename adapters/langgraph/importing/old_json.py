"""Old JSON: how LangGraph stored values until it took msgpack, in 2024."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

from langgraph.checkpoint.serde.jsonplus import LC_REVIVER

from ....contracts.errors import Corrupted
from ..serde.values import TypeName

# Types that are made by a method of their class, and by nothing else. (LangGraph's own reader makes None of them now.)
_MAKERS: dict[TypeName, Callable[[str], Any]] = {
    ("datetime", "datetime"): dt.datetime.fromisoformat,
    ("datetime", "date"): dt.date.fromisoformat,
    ("datetime", "time"): dt.time.fromisoformat,
    ("builtins", "bytes"): bytes.fromhex,
    ("builtins", "bytearray"): bytearray.fromhex,
}


def types_in(packed: bytes) -> Counter[TypeName]:
    """The types that it names, except those that are always safe. Makes no objects of them."""
    found = Counter[TypeName]()

    def look(value: dict[str, Any]) -> dict[str, Any]:
        if _is_object(value) and _name(value) not in _MAKERS:
            found[_name(value)] += 1
        return value

    json.loads(packed, object_hook=look)
    return found


def load(packed: bytes) -> Any:
    """The value. The caller must have checked its types."""
    return json.loads(packed, object_hook=_made)


def _made(value: dict[str, Any]) -> Any:
    if not _is_object(value):
        return LC_REVIVER(value)
    name = _name(value)
    args = value.get("args") or ()
    try:
        if name in _MAKERS:
            return _MAKERS[name](*args)
        module, attribute = name
        return getattr(import_module(module), attribute)(*args, **(value.get("kwargs") or {}))
    except Exception as error:  # a user's class may raise anything
        raise Corrupted(f"it holds a {'.'.join(name)} that can't be made from what was stored: {error}") from error


def _is_object(value: dict[str, Any]) -> bool:
    return value.get("lc") == 2 and value.get("type") == "constructor"


def _name(value: dict[str, Any]) -> TypeName:
    *module, attribute = map(str, value["id"])
    return ".".join(module), attribute
