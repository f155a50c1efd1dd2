"""Paths to places in a state, as people write them: `messages[3].text`, or as `diff` prints:
`state['messages'][3]['text']`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ..contracts.errors import BadSetup
from ..contracts.opaque import Opaque
from . import fields

# How many names of a dict an error lists.
_SHOWN = 20
# A place, and the value to put there.
Assignment = tuple[str, Any]
_HEAD = re.compile(r"[^.\[]+")
_INDEXED = re.compile(r"[A-Za-z_]\w*(\.\w+)*\[-?\d+\].*")
_STEP = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<key>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\]]+)\]")


def edited(state: Any, changes: Sequence[Assignment], additions: Sequence[Assignment]) -> Any:
    """A state with values put at places. Changes it, and returns it."""
    for place, value in changes:
        state = put(state, place, value)
    for place, value in additions:
        state = put(state, place, value, new=True)
    return state


def put(state: Any, place: str, value: Any, *, new: bool = False) -> Any:
    """Put a value at a place in a state: an item of a list (or a new one at its end), a key of a dict, or a field of a
    model or a dataclass. A key must be there, so that a typo adds nothing; if `new`, it must not. Changes the state,
    and returns it."""
    return _with(state, list(_steps(place)), place, value, new=new)


def check_names(state: Any, changes: Iterable[str], additions: Iterable[str]) -> None:
    """Refuse changes of names that a state lacks, which may be typos, and additions of names that it has. (Changes of
    places in its values are checked when they are made.)"""
    if not issubclass(type(state), dict):
        return
    for name in changes:
        if name not in state and not is_inside(name, state):
            raise BadSetup(f"there is no {name!r}: the state has only {_names(state)}. To add a new name, use add")
    for name in additions:
        if name in state:
            raise BadSetup(f"{name!r} is there already: use changes")
        if is_inside(name, state):
            raise BadSetup(f"add takes new names, and {name!r} is inside a value: give that whole, in changes")


def root(place: str) -> Any:
    """The name of the state's value that contains the place."""
    return next(_steps(place))


def is_inside(place: str, state: Any) -> bool:
    """Whether a name is not one of the state's own, but that of a place in one of its values."""
    given: Any = place
    if not isinstance(state, dict) or not isinstance(given, str) or place in state:
        return False
    head = _HEAD.match(place)
    if place.startswith("state[") or _INDEXED.fullmatch(place):
        return True  # even if there is no such value: it is misspelt
    return head is not None and head[0] != place and head[0] in state


def _with(held: Any, way: list[Any], place: str, value: Any, *, new: bool) -> Any:
    """What is at the beginning of the way, with the value at its end."""
    if not way:
        return value
    step, *rest = way
    if (parts := fields.parts(held)) is not None:
        if step not in parts:
            raise BadSetup(f"there is no {place!r}: a {type(held).__name__} has {', '.join(parts)}, not {step!r}")
        change = partial(_with, way=rest, place=place, value=value, new=new)
        return fields.replaced(held, step, parts[step], change, place, inside=bool(rest))
    _check(held, step, place, last=not rest, new=new)
    if issubclass(type(held), list) and step == len(held):
        held.append(value)
    else:
        held[step] = _with(held[step] if rest else None, rest, place, value, new=new)
    return held


def _check(held: Any, step: Any, place: str, *, last: bool, new: bool) -> None:
    """Refuse a step that leads nowhere. The last one may add an item to a list, and if `new`, adds a key to a dict."""
    if issubclass(type(held), dict):
        if step not in held and not (last and new):
            whole = f", or give the whole of {root(place)!r} in changes=" if root(place) != place else ""
            also = f". To add a new name, use --add on the command line{whole}" if last else ""
            raise BadSetup(f"there is no {place!r}: the state has nothing at {step!r}, only {_names(held)}{also}")
        if step in held and last and new:
            raise BadSetup(f"{place!r} is there already: change it with --set")
    elif isinstance(held, Opaque):
        raise BadSetup(f"{place!r} can't be changed: it is in a {held.type_name}, and {held.closed}")
    elif not issubclass(type(held), list):
        raise BadSetup(f"there is no {place!r}: what holds {step!r} is a {type(held).__name__}, not a list or a dict")
    elif type(step) is not int or not -len(held) <= step < len(held) + last:
        raise BadSetup(f"there is no {place!r}: a list of {len(held)} has no {step!r}")


def _names(held: dict[Any, Any]) -> str:
    shown = [str(name) for name in islice(held, _SHOWN)]
    return ", ".join([*shown, *["..."] * (len(held) > _SHOWN)]) or "{}"


def _steps(place: str) -> Iterator[Any]:
    text = place.removeprefix("state[")
    text = f"[{text}" if text != place else place
    at = 0
    while at < len(text) or not text:
        found = _STEP.match(text, at)
        if found is None:
            raise BadSetup(f"{place!r} is not a place in a state: write e.g. round, messages[3].text")
        yield found["name"] or _key(found["key"], place)
        at = found.end()


def _key(text: str, place: str) -> Any:
    try:
        key = ast.literal_eval(text)
        hash(key)  # a list or a dict is no key
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two, of what is nested deeply
        raise BadSetup(f"{place!r}: write texts in brackets with quotes, ['{text}'], or as .{text}") from None
    return key
