"""Which value it is that can't be packed. Runs only after a failure, so it may be slow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from .builtin_types import NotPlain
from .errors import Unserializable
from .state_types import type_of

_LONGEST = 60


def explain(value: Any, path: str, error: Exception, pack: Callable[[Any], bytes]) -> Unserializable:
    """The refusal, with the path to the innermost value that `pack` refuses."""
    try:
        where, reason = _find(value, path, frozenset(), pack) or (path, str(error))
    except RecursionError:
        where, reason = path, "lists and dicts lie inside of each other too deep"
    return Unserializable(f"{where} can't be saved: {reason.rstrip('.')}. Convert it to plain values first", path=where)


def _find(value: Any, path: str, above: frozenset[int], pack: Callable[[Any], bytes]) -> tuple[str, str] | None:
    if id(value) in above:
        return path, "it contains itself"
    try:
        pack(value)
    except (NotPlain, ValueError, TypeError, OverflowError) as error:
        reason = str(error)
    else:
        return None
    for where, part in _parts(value, path):
        found = _find(part, where, above | {id(value)}, pack)
        if found:
            return found
    return path, reason


def _parts(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    kind = cast("type[Any]", type(value))
    if kind is dict:
        yield from ((f"{path} key {_shown(key)}", key) for key in value)
        yield from ((f"{path}[{_shown(key)}]", item) for key, item in value.items())
    elif kind in (list, tuple, set, frozenset):
        yield from ((f"{path}[{i}]", item) for i, item in enumerate(value))
    else:
        try:
            yield from ((path + suffix, part) for suffix, part in type_of(kind).shape.parts(value))
        except Exception:  # it has no parts, or its class can't even say what they are
            return


def _shown(key: Any) -> str:
    """A key as one may write it; keys from users may be long, or unable to show themselves."""
    try:
        shown = repr(key)
    except Exception:
        return f"<{type(key).__qualname__}>"
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
