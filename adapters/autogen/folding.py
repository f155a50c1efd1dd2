"""Folding: a team's state without what its messages already say.

Every member keeps its own copy of the conversation: texts in its model's context, whole messages that it has not
read yet. In a checkpoint these are references to the thread, so that it holds the conversation about once.
A reference is a tuple: ("message", id) or ("content", id); a real tuple becomes ("tuple", *items).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Dump = Mapping[str, Any]
SHORT = 64  # characters: a reference is not shorter


def fold(value: Any, thread: list[Dump]) -> Any:
    """A copy of plain values with references instead of what the thread holds."""
    messages = {dump["id"]: dump for dump in thread}
    texts = {text: dump["id"] for dump in thread if isinstance(text := dump["content"], str) and len(text) > SHORT}

    def folded(value: Any, key: str = "") -> Any:
        if key == "content" and _is(value, str) and value in texts:
            return ("content", texts[value])
        if _is(value, tuple):
            return ("tuple", *map(folded, value))
        if _is(value, dict) and isinstance(identity := value.get("id"), str) and messages.get(identity) == value:
            return ("message", identity)
        return _rebuilt(value, folded)

    return folded(value)


def unfold(value: Any, thread: list[Dump]) -> Any:
    """The opposite of `fold`; KeyError if the thread lacks a message."""
    messages = {dump["id"]: dump for dump in thread}

    def unfolded(value: Any, key: str = "") -> Any:
        if not _is(value, tuple):
            return _rebuilt(value, unfolded)
        if value[0] == "tuple":
            return tuple(map(unfolded, value[1:]))
        message = messages[value[1]]
        return message if value[0] == "message" else message["content"]

    return unfolded(value)


def _rebuilt(value: Any, change: Callable[[Any, str], Any]) -> Any:
    """A new dict or list of changed items; other values as they are."""
    if _is(value, dict):
        return {name: change(item, name) for name, item in value.items()}
    return [change(item, "") for item in value] if _is(value, list) else value


def _is(value: object, kind: type[Any]) -> bool:
    return type(value) is kind
