"""Registered: objects whose class was registered with functions of its own (`state_type(..., dump=, load=)`), inside of
what LangGraph's serializer writes. That knows the parts of models and dataclasses, but nothing of such an object.

Does not import LangGraph.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ....contracts.builtin_types import class_of
from ....contracts.codec import unpack
from ....contracts.errors import BadSetup
from ....contracts.shapes import Custom, shape_of
from ....contracts.state_types import UnknownValue, found_type

RESTORED = (__name__, "restored")
"""What the serializer calls to make such an object again. Stored values name it, so it must stay here."""

_errors: ContextVar[list[Exception]] = ContextVar("errors")


def is_registered(value: Any) -> bool:
    """Whether our codec keeps an object of the user's whole: its class is registered, or a contract."""
    kind = class_of(value)
    return found_type(kind) is not None and not kind.__module__.startswith("langchain_core.")


def opaque(value: Any) -> Custom | None:
    """The functions of an object of which only they can tell what it holds. None for any other value."""
    known = found_type(class_of(value))
    if known is None or not isinstance(known.shape, Custom):
        return None
    return known.shape if shape_of(known.kind) is None else None


def restored(packed: bytes) -> Any:
    """An object from what our codec made of it."""
    try:
        value = unpack(packed)
        if isinstance(value, UnknownValue):
            raise BadSetup(f"a graph's saved state holds a {value.type_name!r}, but {value.closed}")
    except Exception as error:
        _errors.get([]).append(error)
        raise
    return value


def restoring(load: Callable[[], Any]) -> Any:
    """What `load` returns, in which LangGraph may call `restored`. Where that fails, LangGraph would go on with the
    bytes: the error is raised here."""
    errors: list[Exception] = []
    token = _errors.set(errors)
    try:
        value = load()
    finally:
        _errors.reset(token)
    if errors:
        raise errors[0]
    return value
