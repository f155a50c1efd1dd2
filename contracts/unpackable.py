"""Which value it is that can't be packed. Runs only after a failure, so it may be slow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from .builtin_types import DEEPEST, TOO_DEEP, NotPlain, class_of
from .errors import Unserializable
from .state_types import type_of

_LONGEST = 60
# Beyond this depth there are only lists and dicts, and no part of them is to blame more than another.
_DEEPEST = 1100
_ITSELF = "it contains itself"
_TOO_DEEP = "lists and dicts lie inside of each other too deep"
# Models that stream emit such texts, and so does os.listdir() for names that are not UTF-8.
_HALF = "the text holds half of a character ({!r}), which no encoding has"
_WHOLE = 'Replace it first: text.encode("utf-8", "replace").decode()'


def explain(value: Any, path: str, error: Exception, pack: Callable[[Any], bytes]) -> Unserializable:
    """The refusal, with the path to the innermost value that `pack` refuses."""
    where, refused = endless(value, path) or _find(value, path, error, pack)
    if isinstance(refused, UnicodeEncodeError):
        refused = NotPlain(_HALF.format(refused.object[refused.start]), advice=_WHOLE)
    advice = refused.advice if isinstance(refused, NotPlain) else "Convert it to plain values first"
    return Unserializable(f"{where} can't be saved: {str(refused).rstrip('.')}. {advice}", path=where)


def endless(
    value: Any, path: str, holders: Collection[type[Any]] = (list, dict), deepest: int = _DEEPEST
) -> tuple[str, NotPlain] | None:
    """Where lists and dicts (or other `holders`) contain themselves, or lie inside of each other too deep. None if they
    do neither. Looks at each of them once; trying each of so many levels would take seconds."""
    if class_of(value) not in holders:
        return None
    done: set[int] = set()
    above = {id(value): ""}
    open_ = [_held(value, holders)]
    while open_:
        if len(open_) > deepest:
            return path, NotPlain(_TOO_DEEP)
        for key, part in open_[-1]:
            if id(part) in above:
                return f"{path}{''.join(above.values())}[{_shown(key)}]", NotPlain(_ITSELF)
            if id(part) not in done:
                above[id(part)] = f"[{_shown(key)}]"
                open_.append(_held(part, holders))
                break
        else:
            open_.pop()
            done.add(above.popitem()[0])
    return None


def _held(value: Any, holders: Collection[type[Any]]) -> Iterator[tuple[Any, Any]]:
    items: Iterable[tuple[Any, Any]] = value.items() if class_of(value) is dict else enumerate(list[Any](value))
    return iter([item for item in items if class_of(item[1]) in holders])


def _find(value: Any, path: str, error: Exception, pack: Callable[[Any], bytes]) -> tuple[str, Exception]:
    where = path
    above: dict[int, Any] = {}
    while id(value) not in above:
        above[id(value)] = value
        for inner, part in parts(value, where):
            refused = _refusal(part, pack)
            if refused is not None:
                where, value, error = inner, part, refused
                break
        else:
            return where, error
        if len(above) > _DEEPEST:
            return path, NotPlain(_TOO_DEEP)
        # Where the nesting begins is told by now. Trying each of its levels, down to the last few, would take seconds.
        if len(above) > DEEPEST and str(error) == TOO_DEEP:
            return where, error
    return where, NotPlain(_ITSELF)


def _refusal(value: Any, pack: Callable[[Any], bytes]) -> Exception | None:
    try:
        pack(value)
    except Exception as error:
        return error
    return None


def where(wanted: Collection[int], value: Any, path: str) -> Iterator[tuple[str, int]]:
    """The places of the objects with these ids in a value that was read."""
    left = [(path, value)]
    while left:
        at, held = left.pop()
        if id(held) in wanted:
            yield at, id(held)
        else:
            left += reversed(list(parts(held, at)))


def parts(value: Any, path: str) -> Iterable[tuple[str, Any]]:
    """The values in a value, each with its path."""
    kind = class_of(value)
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
