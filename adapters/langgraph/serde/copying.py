"""Repeating: hands out a value again and again, each time as new objects, faster than it could be decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]

from .foreign import Foreign
from .plain import ATOMS

_set = object.__setattr__
_type: Any = type  # checkers take its results as they are
_SHARED = ATOMS | {Foreign}


class NoCopy(Exception):
    """The value holds something that is not copied here."""


@dataclass(slots=True)
class _Mould:
    """What a message is made from again: its class and fields, which of these are empty containers, which have to be
    copied for each message, and which were set."""

    kind: Any
    fields: dict[str, Any]
    empty: list[tuple[str, type[Any]]]
    own: list[tuple[str, Any]]
    was_set: set[str]
    extra: dict[str, Any]


class Repeated:
    """A list whose elements nobody changes any more."""

    def __init__(self, elements: Sequence[Any]) -> None:
        self._moulds = [_mould(each) if isinstance(each, BaseMessage) else each for each in elements]

    def first(self, count: int) -> list[Any]:
        """Copies of its first elements. `NoCopy` if one can't be copied."""
        return [_cast(each) if _type(each) is _Mould else copied(each) for each in self._moulds[:count]]


class Kept:
    """A channel's value, as it was when it was kept. `NoCopy` if it can't be copied."""

    def __init__(self, value: Any) -> None:
        own = copied(value)
        self._is_snapshot = _type(own) is _DeltaSnapshot
        self._value = own.value if self._is_snapshot else own
        self._list = Repeated(self._value) if _type(self._value) is list else None

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
        return _cast(_mould(value))
    if kind is _DeltaSnapshot:
        return _DeltaSnapshot(copied(value.value))
    raise NoCopy


def _mould(message: BaseMessage) -> _Mould:
    if message.__pydantic_private__:  # a class of the user's own, with more than its fields
        raise NoCopy
    fields: dict[str, Any] = vars(message)
    held = [(name, item) for name, item in fields.items() if _type(item) not in _SHARED]
    empty = [(name, _type(item)) for name, item in held if not item and _type(item) in (list, dict)]
    own = [(name, item) for name, item in held if item or _type(item) not in (list, dict)]
    return _Mould(_type(message), fields, empty, own, message.__pydantic_fields_set__, message.__pydantic_extra__ or {})


def _cast(mould: _Mould) -> Any:
    fields = mould.fields.copy()
    for name, make in mould.empty:
        fields[name] = make()
    for name, item in mould.own:
        fields[name] = copied(item)
    made = mould.kind.__new__(mould.kind)
    # As BaseModel.__setstate__ does, which takes longer.
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", mould.was_set.copy())
    _set(made, "__pydantic_extra__", copied(mould.extra) if mould.extra else {})
    _set(made, "__pydantic_private__", None)
    return made
