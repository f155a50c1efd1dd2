"""Plain values as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic_core import to_json

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


def _plain(value: Any, room: int = _DEEPEST) -> Any:
    if isinstance(value, BaseModel) or not isinstance(value, Mapping | list | tuple | set | frozenset):
        return value
    if not room:
        return _DEEPER
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {key if isinstance(key, str) else str(key): _plain(item, room - 1) for key, item in entries.items()}
    return [_plain(item, room - 1) for item in cast("Iterable[object]", value)]
