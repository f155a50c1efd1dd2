"""Plain values as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic_core import from_json, to_json


def as_json(
    value: Any, *, indent: int | None = None, no_number: Literal["constants", "strings"] = "constants"
) -> bytes:
    """Plain values as JSON; what JSON lacks as text. NaN and the infinities are constants, which Python reads, or
    texts, which everybody does."""
    return to_json(_plain(value), indent=indent, inf_nan_mode=no_number, bytes_mode="base64", fallback=str)


def jsonable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values as those that JSON has, so that every library writes them: a time is text, and so is NaN."""
    found: dict[str, Any] = from_json(as_json(values, no_number="strings"))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in entries.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in cast("Iterable[object]", value)]
    return value
