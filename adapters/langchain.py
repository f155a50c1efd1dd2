"""LangChain's messages as state types. Found by the entry point `batonpass.state_types`, when one is saved or read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..contracts.state_types import state_type
from .containers import copy_containers

# These names are stored: values of a type that is removed here can't be read any more.
_MESSAGES = (
    *("AIMessage", "AIMessageChunk", "ChatMessage", "ChatMessageChunk", "FunctionMessage", "FunctionMessageChunk"),
    *("HumanMessage", "HumanMessageChunk", "RemoveMessage", "SystemMessage", "SystemMessageChunk", "ToolMessage"),
    "ToolMessageChunk",
)


def register() -> None:
    """Register the messages of langchain_core."""
    from langchain_core import messages

    for name in _MESSAGES:
        kind: Any = getattr(messages, name)
        form = _Form(kind)
        state_type(f"langchain_core.{name}", kind, dump=form.dump, load=form.load)


class _Form:
    """A message's fields that differ from their defaults, because a thread holds thousands of messages. They are
    restored directly, without the class's validation."""

    def __init__(self, kind: type[BaseModel]) -> None:
        fields = kind.model_fields.items()
        self._kind = kind
        self._defaults = {name: _new(field) for name, field in fields if not field.is_required()}
        self._required = {name for name, _ in fields} - self._defaults.keys()
        # The fields of a new message, in their order, and those for which each message needs an object of its own.
        self._template = {name: self._defaults.get(name) for name, _ in fields}
        own = [(name, field) for name, field in fields if type(self._template[name]) not in _UNCHANGING]
        self._made = [(name, _maker(field)) for name, field in own]

    def dump(self, message: Any) -> dict[str, Any]:
        held: dict[str, Any] = {**message.__dict__, **(message.__pydantic_extra__ or {})}
        defaults = self._defaults
        return {
            name: copy_containers(value)
            for name, value in held.items()
            if name not in defaults or type(value) is not type(defaults[name]) or value != defaults[name]
        }

    def load(self, stored: dict[str, Any]) -> Any:
        fields = {**self._template, **stored}
        for name, make in self._made:
            if name not in stored:
                fields[name] = make()
        extra: dict[str, Any] = {}
        if len(fields) > len(self._template):
            extra = {name: fields.pop(name) for name in stored if name not in self._template}
        if not self._required <= stored.keys():
            raise KeyError(next(name for name in self._required if name not in stored))
        message = self._kind.__new__(self._kind)
        # As BaseModel.__setstate__ does, which takes longer.
        _set(message, "__dict__", fields)
        _set(message, "__pydantic_fields_set__", set(stored))
        _set(message, "__pydantic_extra__", extra)
        _set(message, "__pydantic_private__", None)
        return message


_set = object.__setattr__
_UNCHANGING = (str, bool, int, type(None))


def _maker(field: FieldInfo) -> Callable[[], Any]:
    plain = field.default_factory in (list, dict)
    return cast("Callable[[], Any]", field.default_factory) if plain else partial(_new, field)


def _new(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)
