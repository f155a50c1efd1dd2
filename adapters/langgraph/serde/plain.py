"""Plain values: what a graph's state shows, and what it is restored from where possible."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from ....contracts.builtin_types import class_of
from ...dialects import dict_of
from .registered import is_registered, opaque

ATOMS = frozenset(
    {type(None), bool, int, float, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, Decimal, UUID}
)
BASES: tuple[type[Any], ...] = (str, int, float, bytes, list, dict)
_ITSELF: dict[type[Any], Callable[[Any], Any]] = {str: str.__str__, int: int.__int__}
_GROUPS: frozenset[type[Any]] = frozenset({tuple, set, frozenset})
_MESSAGES: dict[str, type[BaseMessage]] = {
    message.model_fields["type"].default: message
    for message in (AIMessage, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage)
}
_NONE = object()


class NotPlain(Exception):
    """The value holds an object that plain values can't carry."""


def plain(value: Any) -> Any:
    """A copy of plain values. A subclass of str, dict ... becomes its base, as in LangGraph's own serializer. (Not one
    of float, such as numpy's, which that refuses, nor a registered class.)"""
    kind = class_of(value)
    if kind in ATOMS:
        return value
    if kind is dict:
        return {plain(key): plain(item) for key, item in value.items()}
    if kind is list:
        return [plain(item) for item in value]
    if kind in _GROUPS:
        return kind(plain(item) for item in value)
    if isinstance(value, PurePath):
        return value
    base = next((base for base in BASES if isinstance(value, base)), None)
    if base in (None, float) or isinstance(value, Enum) or is_registered(value):
        raise NotPlain(kind.__qualname__)
    return plain(as_base(base, value))


def as_base(base: type[Any], value: Any) -> Any:
    """A value of a subclass as one of its base. The class may say that its texts or numbers are others."""
    return _ITSELF.get(base, base)(value)


def readable(value: Any) -> Any:
    """Plain values that show a person what the value holds. It can't be restored from them."""
    try:
        return plain(value)
    except NotPlain:
        pass
    if isinstance(value, BaseMessage):
        return message_as_dict(value)
    if own := opaque(value):
        try:
            return readable(own.dump(value))
        except Exception as error:  # the function is the user's
            return f"({type(error).__name__}: {error})"
    if isinstance(value, Mapping):
        return {key if type(key) in ATOMS else str(key): readable(item) for key, item in items(value)}
    if hasattr(class_of(value), "_asdict"):
        return readable(value._asdict())
    if isinstance(value, Enum):
        return readable(value.value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [readable(item) for item in cast("Collection[Any]", value)]
    if hasattr(value, "model_dump"):
        return readable(value.model_dump())
    if dataclasses.is_dataclass(value):
        return {field.name: readable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return repr(value)


def message_as_dict(message: BaseMessage) -> dict[str, Any]:
    """A message as a dict: its type, and its fields that differ from their defaults."""
    return {name: readable(value) for name, value in _fields(message).items()}


def messages_as_dicts(value: Any) -> list[dict[str, Any]] | None:
    """A list of messages as dicts from which `messages_from_dicts` makes them again. None if it is something else."""
    messages: list[Any] = [*value] if type(value) is list else [None]
    if not all(_MESSAGES.get(_type(message)) is type(message) for message in messages):
        return None
    try:
        return [plain(_fields(message)) for message in messages]
    except NotPlain:
        return None


def messages_from_dicts(told: list[dict[str, Any]]) -> list[BaseMessage]:
    """The messages that `messages_as_dicts` told."""
    return [_MESSAGES[fields["type"]](**plain(fields)) for fields in told]


def message_of(given: Any) -> BaseMessage:
    """A message from what a person wrote: the form of `messages_as_dicts`, which keeps all fields, or any other that
    LangChain reads. Raises anything. What removes messages is an instruction to a reducer, and no message."""
    fields: Any = dict_of(given) or given
    known = _MESSAGES.get(dict_of(given).get("type", ""))
    made = known(**fields) if known else convert_to_messages([fields])[0]
    if type(made) not in _MESSAGES.values():
        raise TypeError(f"it is a {type(made).__name__}")
    return made


def items(mapping: Any) -> list[tuple[Any, Any]]:
    """A mapping's items, without the unknown type arguments to which a checker would narrow."""
    return list(mapping.items())


def _fields(message: BaseMessage) -> dict[str, Any]:
    defaults = _defaults(type(message))
    kept: dict[str, Any] = {"type": message.type}
    for name, value in message.model_dump().items():
        default = defaults.get(name, _NONE)
        if type(value) is not type(default) or value != default:
            kept[name] = value
    return kept


@cache
def _defaults(message: type[BaseMessage]) -> dict[str, Any]:
    fields = message.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields if not field.is_required()}


def _type(item: Any) -> str:
    return item.type if isinstance(item, BaseMessage) else ""
