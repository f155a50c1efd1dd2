"""Messages: what a person gives for a channel of messages on a saver's thread, as the messages that graphs find there.

Needs LangChain only if there is something to convert.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ....contracts.errors import BadSetup, MissingExtra
from ....contracts.state_types import UnknownValue
from ...dialects import dict_of

_MODULE = "langchain_core.messages"


def as_messages(before: Any, given: Any) -> Any:
    """Values of an edit, with those of channels that hold messages before it as messages. `update_state` would convert
    them, too. `BadSetup` for what is no message."""
    state, edited = dict_of(before), dict_of(given)
    held = {name: _list(name, value) for name, value in edited.items() if _holds_messages(state.get(name))}
    return {**edited, **held} if held else given


def _holds_messages(value: Any) -> bool:
    found = cast("Sequence[Any]", value) if isinstance(value, list) else ()
    return bool(found) and all(map(_is_message, found))


def _is_message(value: Any) -> bool:
    if isinstance(value, UnknownValue):  # this process has not imported LangChain
        return value.type_name.startswith("langchain_core.")
    return any(base.__module__.startswith(_MODULE) for base in type(value).__mro__)


def _list(name: str, value: Any) -> Any:
    if not isinstance(value, list):
        raise BadSetup(f"state[{name!r}] is a list of messages, and would be a {type(value).__name__}")
    return [_message(each, f"{name}[{at}]") for at, each in enumerate(cast("Sequence[Any]", value))]


def _message(given: Any, place: str) -> Any:
    if _is_message(given):
        return given
    try:
        from ..serde.plain import message_of
    except ImportError as error:
        raise MissingExtra(
            f"{place} would be a message, and making it needs LangGraph: pip install 'batonpass[langgraph]'"
        ) from error
    try:
        return message_of(given)
    except Exception as error:  # LangChain raises anything
        why = str(error).split("\nFor ")[0]
        raise BadSetup(
            f"the new {place} is no message ({type(error).__name__}: {' '.join(why.split())}): give it as "
            '{"type": "human", "content": "..."}'
        ) from None
