"""Places in a state, as people write them: `messages[3].text`, or as `diff` prints: `state['messages'][3]['text']`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, cast

from batonpass.contracts.errors import BadSetup

_STEP = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<key>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\]]+)\]")


def put(state: Any, place: str, value: Any) -> Any:
    """The state with a value at a place: an item of a list, or one that is added at its end; a key of a dict, old or
    new. The state given is changed."""
    steps = list(_steps(place))
    at = state
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if isinstance(at, list):
            at = _into_list(cast("list[Any]", at), step, value, last, place)
        elif isinstance(at, dict):
            held = cast("dict[Any, Any]", at)
            if last:
                held[step] = value
            elif step not in held:
                raise BadSetup(f"there is no {place!r}: the state has nothing at {step!r}")
            else:
                at = held[step]
        else:
            raise BadSetup(f"there is no {place!r}: what holds {step!r} is a {type(at).__name__}, not a list or a dict")
    return state


def _into_list(held: list[Any], step: Any, value: Any, last: bool, place: str) -> Any:
    if not isinstance(step, int) or not -len(held) <= step <= len(held) - (not last):
        raise BadSetup(f"there is no {place!r}: a list of {len(held)} has no {step!r}")
    if not last:
        return held[step]
    if step == len(held):
        held.append(value)
    else:
        held[step] = value
    return held


def _steps(place: str) -> Iterator[Any]:
    text = place.removeprefix("state[")
    text = f"[{text}" if text != place else place
    at = 0
    while at < len(text):
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
