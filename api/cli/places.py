"""Places in a state, as people write them: `messages[3].text`, or as `diff` prints: `state['messages'][3]['text']`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from batonpass.contracts.errors import BadSetup

_STEP = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<key>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\]]+)\]")


def put(state: Any, place: str, value: Any) -> Any:
    """The state with a value at a place: an item of a list, or one that is added at its end; a key of a dict, old or
    new. The state given is changed."""
    *way, last = _steps(place)
    at = state
    for step in way:
        _check(at, step, place, new=False)
        at = at[step]
    _check(at, last, place, new=True)
    if issubclass(type(at), list) and last == len(at):
        at.append(value)
    else:
        at[last] = value
    return state


def _check(held: Any, step: Any, place: str, *, new: bool) -> None:
    """Refuse a step that leads nowhere. `new`: something may be added there."""
    if issubclass(type(held), dict):
        if not new and step not in held:
            raise BadSetup(f"there is no {place!r}: the state has nothing at {step!r}")
    elif not issubclass(type(held), list):
        raise BadSetup(f"there is no {place!r}: what holds {step!r} is a {type(held).__name__}, not a list or a dict")
    elif type(step) is not int or not -len(held) <= step < len(held) + new:
        raise BadSetup(f"there is no {place!r}: a list of {len(held)} has no {step!r}")


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
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise BadSetup(f"{place!r}: write texts in brackets with quotes, ['{text}'], or as .{text}") from None
