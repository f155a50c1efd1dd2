"""LangChain's messages as state types: found by the entry point `batonpass.state_types`, when one is saved or read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..contracts.state_types import state_type

# Names are stored: what is taken out here can't be read any more.
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
    """A message's fields that are not what they are by default: a thread holds thousands of messages. They are put back
    as they were, without the class making anything of them again."""

    def __init__(self, kind: type[BaseModel]) -> None:
        fields = kind.model_fields.items()
        self._kind = kind
        self._names = [name for name, _ in fields]
        self._defaults = {name: _new(field) for name, field in fields if not field.is_required()}
        self._shared = {name: value for name, value in self._defaults.items() if type(value) in _UNCHANGING}
        self._made = {name: field for name, field in fields if name in self._defaults and name not in self._shared}

    def dump(self, message: Any) -> dict[str, Any]:
        held: dict[str, Any] = {**message.__dict__, **(message.__pydantic_extra__ or {})}
        defaults = self._defaults
        return {
            name: value
            for name, value in held.items()
            if name not in defaults or type(value) is not type(defaults[name]) or value != defaults[name]
        }

    def load(self, stored: dict[str, Any]) -> Any:
        made = {name: _new(field) for name, field in self._made.items() if name not in stored}
        held = {**self._shared, **made, **stored}
        fields = {name: held.pop(name) for name in self._names}
        message = self._kind.__new__(self._kind)
        state = {"__dict__": fields, "__pydantic_extra__": held, "__pydantic_fields_set__": {*stored}}
        BaseModel.__setstate__(message, {**state, "__pydantic_private__": None})
        return message


_UNCHANGING = (str, bool, int, type(None))


def _new(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)
