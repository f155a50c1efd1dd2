"""JSON values: exact values of states as JSON that people can read.

None, bool, int, float, str, lists and dicts with texts as keys are what they are in JSON. Any other value is a dict
whose key "$" says what it is:

    {"$": "tuple", "items": [...]}                also "set", "frozenset"; "dict" has pairs as items
    {"$": "plain", "value": {...}}                a dict that has a key "$" itself
    {"$": "type", "name": "shop.order", "value": {...}}     a registered type, as `state_type` dumps it
    {"$": "value", "shown": "12:30:00", "packed": "..."}    the rest: as text for people, and packed in base64
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any, cast

from ...contracts.builtin_types import ENCODERS, check_hashes, class_of, distinct_dict
from ...contracts.codec import pack, unpack
from ...contracts.packing import FAILURES
from ...contracts.state_types import UnknownValue, type_named, type_of

_KIND = "$"
_SETS: dict[str, type[Any]] = {"set": set, "frozenset": frozenset}
# Up to this, every JSON reader takes an integer for the same number.
_EXACT = 1 << 53
# Integers of more bits are shown as hex: Python refuses to write very long ones in decimal.
_DIGITS = 10_000


def to_json(value: Any) -> Any:
    """A value that the codec packs, in a form that `json.dumps` writes."""
    kind = class_of(value)
    if value is None or kind in (bool, str):
        return value
    if (kind is int and -_EXACT <= value <= _EXACT) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [to_json(item) for item in value]
    if kind is dict:
        return _mapping(value)
    if kind is tuple:
        return {_KIND: "tuple", "items": [to_json(item) for item in value]}
    if kind in (set, frozenset):
        return {_KIND: kind.__name__, "items": [to_json(item) for item in sorted(value, key=pack)]}
    if kind in (int, float, bytes, UnknownValue) or kind in ENCODERS:
        return _packed(value)
    known = type_of(kind)
    for form in known.shape.forms(value):
        try:
            stored = form()
            pack(stored)
            return {_KIND: "type", "name": known.name, "value": to_json(stored)}
        except FAILURES:
            continue
    return _packed(value)


def from_json(value: Any) -> Any:
    """The value that `to_json` wrote. Raises any exception for anything else."""
    kind = class_of(value)
    if kind is list:
        return [from_json(item) for item in value]
    if kind is not dict:
        return value
    held = cast("dict[str, Any]", value)
    if _KIND not in held:
        return {key: from_json(item) for key, item in held.items()}
    what: str = held[_KIND]
    if what == "plain":
        return {key: from_json(item) for key, item in held["value"].items()}
    if what == "value":
        return unpack(b64decode(held["packed"], validate=True))
    if what == "type":
        known = type_named(held["name"])
        loaded = from_json(held["value"])
        return known.load(loaded) if known else UnknownValue(held["name"], pack(loaded))
    return _items(what, [from_json(item) for item in held["items"]])


def _items(what: str, items: list[Any]) -> Any:
    if what == "tuple":
        return tuple(items)
    if what == "dict":
        return distinct_dict([(key, item) for key, item in items])
    check_hashes(items)
    return _SETS[what](items)


def _mapping(value: dict[Any, Any]) -> Any:
    if not all(type(key) is str for key in value):
        return {_KIND: "dict", "items": [[to_json(key), to_json(item)] for key, item in value.items()]}
    found = {key: to_json(item) for key, item in value.items()}
    return {_KIND: "plain", "value": found} if _KIND in found else found


def _packed(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        shown = hex(value) if value.bit_length() > _DIGITS else str(value)
    else:
        shown = repr(value) if isinstance(value, bytes) else str(value)
    return {_KIND: "value", "shown": shown[:200], "packed": b64encode(pack(value)).decode()}
