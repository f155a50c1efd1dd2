"""Reading: states that share a beginning, each element of it decoded once."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.messages import BaseMessage

from ...contracts.checkpoint import Checkpoint as Stored
from ...coordinator.parts.body import LIST, value_of
from ...coordinator.parts.stored import STATE, StoredPart
from ...coordinator.snapshots import Opened
from .foreign import Foreign
from .plain import ATOMS, class_of

_set = object.__setattr__
_SHARED = ATOMS | {Foreign}


class _NoCopy(Exception):
    """The value holds something that is not copied here."""


@dataclass(slots=True)
class _Decoded:
    body: bytes
    elements: list[Any]


class Reading:
    """Makes the states of several checkpoints of a thread before any of them is given away. A list that begins another
    is copied from that, element by element: nobody gets an object that somebody else has."""

    def __init__(self) -> None:
        self._lists: dict[Any, _Decoded] = {}

    @contextmanager
    def undisturbed(self) -> Generator[None]:
        """While tens of thousands of objects are made, none of which is garbage, looking for garbage among them takes
        longer than making them."""
        paused = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if paused:
                gc.enable()

    def stored(self, opened: Opened) -> Stored:
        """As `Opened.checkpoint`."""
        lists = [part for part in opened.parts if _is_list(part)]
        stored = replace(opened, parts=[part for part in opened.parts if not _is_list(part)]).checkpoint
        for part in lists:
            stored.state[part.path[0]] = self._list(part)
        return stored

    def _list(self, stored: StoredPart) -> list[Any]:
        part = stored.part
        assert part is not None
        body, known = part.body, self._lists.get(stored.path)
        if known is not None and part.count <= len(known.elements) and known.body.startswith(body):
            try:
                return [_copy(element) for element in known.elements[: part.count]]
            except _NoCopy:
                pass
        made = cast("list[Any]", value_of(part.kind, part.count, body))
        self._lists[stored.path] = _Decoded(body, made)
        return [*made]


def _is_list(stored: StoredPart) -> bool:
    """Whether it is a channel's list, and not damaged."""
    part = stored.part
    return part is not None and part.kind == LIST and stored.root == STATE and len(stored.path) == 1


def _new(kind: Any) -> Any:
    """An instance without fields."""
    return kind.__new__(kind)


def _copy(value: Any) -> Any:
    kind = class_of(value)
    if isinstance(value, BaseMessage):
        message = _new(kind)
        fields = value.__dict__.copy()
        for name, item in fields.items():
            if class_of(item) not in _SHARED:
                fields[name] = _copy(item) if item else class_of(item)()
        _set(message, "__dict__", fields)
        _set(message, "__pydantic_fields_set__", value.__pydantic_fields_set__.copy())
        _set(message, "__pydantic_extra__", _copy(value.__pydantic_extra__))
        _set(message, "__pydantic_private__", None)
        return message
    if kind in _SHARED:
        return value
    if kind is list:
        return [_copy(item) for item in value]
    if kind is dict:
        return {key: _copy(item) for key, item in value.items()}
    raise _NoCopy
