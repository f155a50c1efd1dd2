"""Copying: of values that are saved while the graph continues, and of values that are handed out again and again, each
time as new objects, faster than they could be decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from langgraph.types import Send

from ....contracts.builtin_types import class_of
from ...containers import HOLDERS
from ...containers import copy_containers as copy_plain_containers
from .plain import ATOMS
from .wrapped import Wrapped

_set = object.__setattr__
_type: Any = type  # checkers take its results as they are
_SHARED = ATOMS | {Wrapped}
_ALSO_SENDS = HOLDERS | {Send}


def copy_containers(value: Any) -> Any:
    """`copy_containers` for a graph's value. It may be a `Send`, or hold some, and a `Send` holds the state that a node
    gets."""
    return copy_plain_containers(value, _ALSO_SENDS) if class_of(value) in _ALSO_SENDS else value


class NoCopy(Exception):
    """The value holds something that is not copied here."""


@dataclass(slots=True)
class _MessageTemplate:
    """What a message is made from again: its class and fields, which of these are empty containers, which have to be
    copied for each message, and which were set."""

    kind: Any
    fields: dict[str, Any]
    empty: list[tuple[str, type[Any]]]
    own: list[tuple[str, Any]]
    was_set: set[str]
    extra: dict[str, Any]


class ListTemplate:
    """A list whose elements nobody changes any more."""

    def __init__(self, elements: Sequence[Any]) -> None:
        self._templates = [_template(each) if isinstance(each, BaseMessage) else each for each in elements]

    def first(self, count: int) -> list[Any]:
        """Copies of its first elements. `NoCopy` if one can't be copied."""
        return [_made(each) if _type(each) is _MessageTemplate else copied(each) for each in self._templates[:count]]


class ValueTemplate:
    """A channel's value, as it was when it was kept. `NoCopy` if it can't be copied."""

    def __init__(self, value: Any) -> None:
        own = copied(value)
        self._is_snapshot = _type(own) is _DeltaSnapshot
        self._value = own.value if self._is_snapshot else own
        self._list = ListTemplate(self._value) if _type(self._value) is list else None

    def again(self) -> Any:
        """The value, as new objects."""
        made = copied(self._value) if self._list is None else self._list.first(len(self._value))
        return _DeltaSnapshot(made) if self._is_snapshot else made


def copied(value: Any) -> Any:
    """A copy that shares nothing with the value that could change. `NoCopy` if that is not possible."""
    kind = _type(value)
    if kind is list:
        return [copied(item) for item in value]
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    if kind in _SHARED:
        return value
    if isinstance(value, BaseMessage):
        return _made(_template(value))
    if kind is _DeltaSnapshot:
        return _DeltaSnapshot(copied(value.value))
    raise NoCopy


def _template(message: BaseMessage) -> _MessageTemplate:
    if message.__pydantic_private__:  # a class of the user's own, with more than its fields
        raise NoCopy
    fields: dict[str, Any] = vars(message)
    held = [(name, item) for name, item in fields.items() if _type(item) not in _SHARED]
    empty = [(name, _type(item)) for name, item in held if not item and _type(item) in (list, dict)]
    own = [(name, item) for name, item in held if item or _type(item) not in (list, dict)]
    return _MessageTemplate(
        _type(message), fields, empty, own, message.__pydantic_fields_set__, message.__pydantic_extra__ or {}
    )


def _made(template: _MessageTemplate) -> Any:
    fields = template.fields.copy()
    for name, make in template.empty:
        fields[name] = make()
    for name, item in template.own:
        fields[name] = copied(item)
    made = template.kind.__new__(template.kind)
    # As BaseModel.__setstate__ does, which takes longer.
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", template.was_set.copy())
    _set(made, "__pydantic_extra__", copied(template.extra) if template.extra else {})
    _set(made, "__pydantic_private__", None)
    return made
